"""`docs/errors.md` has every error code, and `docs/http-api.md` every request and member."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from recipient_fields.domain import Rule
from recipient_fields.domain.content import WarningCode
from recipient_fields.entrypoints.http.fields.history import HISTORY_PARAMETERS
from recipient_fields.entrypoints.http.fields.list_parameters import LIST_PARAMETERS
from recipient_fields.entrypoints.http.problems import STATUSES

DOCS = Path(__file__).parents[2] / "docs"
ERRORS = (DOCS / "errors.md").read_text("utf-8")

_CODE = re.compile(
    r"^### `(\w+)`\n\n(?:Status (\d{3})\. )?([^\n].+?)\n\n\*\*What to do:\*\* (.+?)\n(?=\n#|\Z)",
    re.MULTILINE | re.DOTALL,
)


def test_every_error_code_has_a_heading_with_its_status_cause_and_solution() -> None:
    assert [(code, int(status)) for code, status in _codes("Codes")] == sorted(
        STATUSES.items(), key=lambda item: item[1]
    )


def test_every_reason_and_every_detail_has_a_heading_with_its_cause_and_solution(contract):
    reasons = contract["components"]["schemas"]["ErrorReason"]["enum"]

    assert [code for code, _ in _codes("Reasons")] == reasons
    assert [code for code, _ in _codes("Details of `validation_failed`")] == [
        rule.value for rule in Rule
    ]


def test_the_page_has_a_row_for_each_code_of_a_warning_with_its_kind() -> None:
    rows = re.findall(r"^\| `(\w+)` \| (mistake|caveat) \| \S", ERRORS, re.MULTILINE)

    assert rows == [(code.value, code.kind.value) for code in WarningCode]


def test_every_heading_of_the_page_has_its_own_anchor() -> None:
    headings = re.findall(r"^#+ `?(.+?)`?$", ERRORS, re.MULTILINE)
    anchors = [heading.lower() for heading in headings]

    assert sorted(set(anchors)) == sorted(anchors)


def test_every_heading_of_a_code_has_a_cause_and_a_solution() -> None:
    assert len(re.findall("^### ", ERRORS, re.MULTILINE)) == len(_CODE.findall(ERRORS))


def test_the_guide_has_every_request_member_and_parameter(contract):
    guide = (DOCS / "http-api.md").read_text("utf-8")
    requests = [
        f"`{method.upper()} {path}`"
        for path, item in contract["paths"].items()
        for method in item.keys() - {"parameters"}
    ]
    schemas = contract["components"]["schemas"]
    members = schemas["RecipientField"]["required"] + schemas["HistoryRecord"]["required"]
    names = (*members, *LIST_PARAMETERS, *HISTORY_PARAMETERS)

    assert [name for name in (*requests, *(f"`{n}`" for n in names)) if name not in guide] == []


def _codes(section: str) -> Iterator[tuple[str, str]]:
    """Return code and status of each heading in this section that has a cause and a solution."""
    text = ERRORS.partition(f"## {section}\n")[2]
    for code, status, _, _ in _CODE.findall(re.split(r"\n(?=## )", text)[0] + "\n"):
        yield code, status
