"""`docs/errors.md` has every code there is, and `docs/http-api.md` every request and member."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from recipient_fields.domain import Rule
from recipient_fields.entrypoints.http.list_parameters import NAMES
from recipient_fields.entrypoints.http.problems import STATUSES

DOCS = Path(__file__).parents[2] / "docs"

_ROW = re.compile(r"^\| (?:(\d{3}) \| )?`(\w+)` \| (.+) \| (.+) \|$", re.MULTILINE)


def test_every_error_code_has_its_status_a_cause_and_a_cure() -> None:
    rows = _rows("Codes")

    assert [(code, int(status)) for status, code, _, _ in rows] == sorted(
        STATUSES.items(), key=lambda item: item[1]
    )


def test_every_reason_and_every_detail_has_a_cause_and_a_cure(contract: dict[str, Any]) -> None:
    reasons = contract["components"]["schemas"]["ErrorReason"]["enum"]

    assert [code for _, code, _, _ in _rows("Reasons of `forbidden`")] == reasons
    assert [code for _, code, _, _ in _rows("Details of `validation_failed`")] == [
        *(rule.value for rule in Rule),
        "key_already_exists",
    ]


def test_the_guide_has_every_request_member_and_parameter(contract: dict[str, Any]) -> None:
    guide = (DOCS / "http-api.md").read_text("utf-8")
    requests = [
        f"`{method.upper()} {path}`"
        for path, item in contract["paths"].items()
        for method in item.keys() - {"parameters"}
    ]
    members = contract["components"]["schemas"]["RecipientField"]["required"]

    assert [
        name for name in (*requests, *(f"`{n}`" for n in (*members, *NAMES))) if name not in guide
    ] == []


def _rows(section: str) -> list[tuple[str, str, str, str]]:
    """Status, code, cause and cure of each row of a section's table."""
    text = (DOCS / "errors.md").read_text("utf-8").partition(f"## {section}\n")[2]
    rows: list[tuple[str, str, str, str]] = _ROW.findall(text.partition("\n## ")[0])
    return rows
