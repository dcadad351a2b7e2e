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


def test_the_contract_suite_has_as_many_cases_as_stated() -> None:
    (stated,) = re.findall(r"over (\d+) cases", TEXT)
    modules = (ROOT / "tests" / "contract").rglob("*.py")

    assert sum(module.read_text("utf-8").count("def test_") for module in modules) > int(stated)


def test_the_figures_are_those_of_the_pages() -> None:
    requests = re.findall(
        r"serves ([\d,]+) requests per second for a field,[^;]*; without its cache, ([\d,]+)\."
        r" In the same run, FastAPI serves ([\d,]+), Litestar ([\d,]+) and Kinto ([\d,]+)\.",
        " ".join(TEXT.split()),
    )
    (killed,) = re.findall(r"\[(\d+) % of [\d,]+ mutants\]", TEXT)
    (mutants,) = re.findall(r"% of ([\d,]+) mutants\]", TEXT)
    # Cells 0 and -1 are outside of the borders. Only the table of the requests per second has seven
    # columns and a row for each server.
    rates = {row[1]: row[4] for row in _rows("internals/performance.md") if len(row) == 9}
    servers = (
        *("Recipient Fields", "Recipient Fields, no cache"),
        *("FastAPI", "Litestar", "Kinto"),
    )
    (every,) = [row for row in _rows("internals/mutation.md") if row[1] == "all"]

    assert requests == [tuple(rates[server] for server in servers)]
    assert _number(mutants) == _number(every[2]) + _number(every[5])
    assert killed == every[8].partition(".")[0]


def _rows(page: str) -> list[list[str]]:
    lines = (ROOT / "docs" / page).read_text("utf-8").splitlines()
    return [[cell.strip() for cell in line.split("|")] for line in lines if line.startswith("|")]


def _number(text: str) -> int:
    return int(text.replace(",", ""))


def dedented(text: str) -> str:
    """Return the lines without the indentation of all lines but the first."""
    return "\n".join(line.strip() for line in text.splitlines())
