"""The README shows what the code does."""

from __future__ import annotations

import re
from importlib.metadata import version
from pathlib import Path

import pytest

from recipient_fields.adapters.memory import MemoryStorage
from recipient_fields.application import Core
from recipient_fields.domain import FieldKey
from recipient_fields.domain.content import parse_content
from recipient_fields.domain.esp import BUILT_IN
from recipient_fields.entrypoints.cli.service.demo import CONTENT, create_demonstration
from recipient_fields.entrypoints.service.selection import create_password_hasher

ROOT = Path(__file__).parent.parent
TEXT = (ROOT / "README.md").read_text("utf-8")
(DEFINITION, WRITTEN, EXPORTS) = re.findall(
    r"```\nOne definition +(.*)\nOne content +((?:.*\n)+?)\n((?:.*\n)+?)```", TEXT
)[0]
MOST_WORDS = 1_000
LEFT = EXPORTS.index("Klaviyo")
"""The width of the left column."""


def test_the_first_screen_shows_the_email_of_the_demonstration_at_two_esps() -> None:
    core = Core.over(MemoryStorage(), hasher=create_password_hasher())
    assert create_demonstration(core) is not None
    (organization,) = core.administration.list_organizations()
    field = core.fields.get_field(organization.id, FieldKey("loyalty_tier"))
    assert field.allowed_values is not None
    allowed = ", ".join(map(str, field.allowed_values.values))
    codes = core.content.list_codes(organization.id, field.key).codes

    assert f"{field.key}: {field.name}, {field.data_type.value}, one of {allowed}" == DEFINITION
    assert dedented(WRITTEN) == CONTENT
    for column, integration in zip(
        (slice(LEFT), slice(LEFT, None)),
        core.integrations.list_integrations(organization.id),
        strict=True,
    ):
        heading, *lines = (line[column].rstrip() for line in EXPORTS.splitlines())
        (name,) = (each.esp_name for each in codes if each.integration_id == integration.id)
        exported = core.content.export_content(
            organization.id, parse_content(CONTENT), integration.id
        )
        assert name is not None
        assert heading == f"{BUILT_IN[integration.esp].title}: {name.name}"
        assert "\n".join(lines) == exported.content


@pytest.mark.parametrize("page", ["README.md", "docs/installing.md"])
def test_the_version_is_that_of_the_package(page: str) -> None:
    text = (ROOT / page).read_text("utf-8").replace("127.0.0.1", "").replace("0.0.0.0", "")

    assert {*re.findall(r"\b\d+\.\d+\.\d+\b", text)} == {version("recipient-fields")}


def test_a_reader_finds_out_quickly_what_it_is() -> None:
    assert len(TEXT.split()) <= MOST_WORDS


def dedented(text: str) -> str:
    """Return the lines without the indentation of all lines but the first."""
    return "\n".join(line.strip() for line in text.splitlines())
