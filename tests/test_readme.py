"""The README shows what the code does."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path

import pytest

from recipient_fields.domain import (
    DataType,
    FieldDraft,
    FieldId,
    IntegrationId,
    OrganizationId,
    RecipientField,
    sync_channel,
)
from recipient_fields.domain.content import WarningKind, parse_content
from recipient_fields.domain.esp import (
    DIALECTS,
    Esp,
    FieldCodes,
    IntegrationDraft,
    derive_codes,
    export_content,
)

ROOT = Path(__file__).parent.parent
TEXT = (ROOT / "README.md").read_text("utf-8")
INTEGRATION = IntegrationId(1)
(SHOWN,) = re.findall(r"```\n(You write .*?\n)```", TEXT, re.S)
LINES = [(line[:12].strip(), line[12:]) for line in SHOWN.splitlines()]
CONTENT, *EXPORTS = [
    (title, f"{first}\n{second}")
    for (title, first), (_, second) in zip(LINES[::2], LINES[1::2], strict=True)
]
"""The titles of ESPs with the exports for them. The first pair is the written content."""


@pytest.mark.parametrize(("title", "shown"), EXPORTS)
def test_the_content_is_exported_as_shown(title: str, shown: str) -> None:
    (esp,) = [esp for esp, dialect in DIALECTS.items() if dialect.title == title]
    fields = [
        _field(esp, 1, "tier", DataType.TEXT),
        _field(esp, 2, "vip", DataType.BOOLEAN),
    ]

    draft = IntegrationDraft(esp=esp, name="Main", created_at=datetime(2026, 11, 20, tzinfo=UTC))
    codes = FieldCodes.of(fields, [draft.with_id(INTEGRATION, OrganizationId(1))])

    exported = export_content(parse_content(CONTENT[1]), codes, esp)

    assert exported.content == shown
    assert not [each for each in exported.warnings if each.code.kind is WarningKind.MISTAKE]


def test_the_content_is_shown_for_three_esps() -> None:
    assert len(EXPORTS) == 3


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


def _field(esp: Esp, number: int, key: str, data_type: DataType) -> RecipientField:
    """Return a field of the integration, with the same name at the ESP."""
    codes = derive_codes(esp, key)
    draft = FieldDraft(
        name=key,
        key=key,
        data_type=data_type,
        esp_field_name=key,
        custom_insertion_code=codes.insertion_code,
        custom_value_expression=codes.value_expression,
    )
    definition = draft.define(by=sync_channel(INTEGRATION), at=datetime.now(UTC))
    return definition.with_id(FieldId(number), OrganizationId(1))
