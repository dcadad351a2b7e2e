"""The command `recipients infer`: from a file to definitions that accept it."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recipient_fields.adapters.memory import MemoryStorage
from recipient_fields.application import Core
from recipient_fields.application.fields.fields_as_code import render_draft_document
from recipient_fields.application.ports.recipients import TextReader
from recipient_fields.application.recipients.files import FileOptions
from recipient_fields.domain import (
    DataType,
    DecimalMark,
    FieldDraft,
    FieldInference,
    OrganizationId,
    RecipientSchema,
    RecipientTexts,
    TextFormats,
    column_name,
    match_columns,
)
from recipient_fields.entrypoints.cli.fields.files import parse_file, render_yaml
from recipient_fields.entrypoints.service.selection import open_recipients

from ...support.command_line import CommandLine, Run

SPREADSHEET = """\
Kunden-Nr.;Vorname;PLZ;"Umsatz
(€)";Stufe;Seit;Имя
10001;Ada;01067;12,50;gold;01.02.2024;Ада
10002;"Zoë ""Z;"" B.";10115;7;silver;28.02.2024;
10003;Ben;10117;1000,00;gold;29.02.2024;Бен
10004;;10117;;silver;29.02.2024;Бен
10005;Eve;10119;k. A.;gold;;Ева
10006;Tom;10119;3;gold;01.03.2024;Том
"""
DOCUMENT = """\
fields:
  kunden_nr:
    name: Kunden-Nr.
    data_type: text
  vorname:
    name: Vorname
    data_type: text
  plz:
    name: PLZ
    data_type: text
  umsatz:
    name: Umsatz (€)
    data_type: text
  stufe:
    name: Stufe
    data_type: text
    allowed_values:
    - gold
    - silver
  seit:
    name: Seit
    data_type: text
  field_7:
    name: Имя
    data_type: text
"""
NOTES = [
    (
        "kunden_nr: Its values have only digits, like postal codes, so its data type is text. Use"
        " number for amounts."
    ),
    "umsatz: Its data type would be number without the value in line 7.",
    (
        "seit: Its values look like dates. For a date field, write them like 2026-11-20, or"
        " set --date-format for a CSV file; for a datetime field, like 2026-11-20T09:15:00Z."
    ),
    (
        "field_7: No valid, unused key can be derived from its name. Choose a key before you create"
        " the field: it can't be changed later."
    ),
    "Proposed 7 fields for 6 recipients.",
]


@pytest.fixture
def infer(cli: CommandLine, tmp_path: Path) -> Callable[..., Run]:
    """Return a function that infers fields from a file with this content."""

    def infer(content: str | bytes, *arguments: str | int, name: str = "list.csv") -> Run:
        path = tmp_path / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        run = cli("recipients", "infer", path, *arguments)
        return Run(run.status, run.out, run.err.replace(f"{tmp_path}/", ""))

    return infer


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16"])
def test_the_fields_of_a_spreadsheet_are_created_and_accept_it(
    infer: Callable[..., Run],
    cli: CommandLine,
    acme: OrganizationId,
    tmp_path: Path,
    encoding: str,
) -> None:
    content = SPREADSHEET.replace("\n", "\r\n").encode(encoding)
    inferred = infer(content, "--decimal", ",")
    assert (inferred.out, inferred.messages().splitlines()) == (DOCUMENT, NOTES)
    (tmp_path / "fields.yaml").write_text(inferred.out)
    applied = cli("apply", tmp_path / "fields.yaml", "--organization", acme, "--yes")
    assert applied.status == 0
    checked = cli("recipients", "check", tmp_path / "list.csv", "--organization", acme)
    assert checked.messages() == "Checked 6 recipients: 6 valid, 0 invalid.\n"


def test_the_fields_of_json_lines_are_proposed(infer: Callable[..., Run]) -> None:
    lines = '{"size": 42.5, "vip": true, "firstName": "Ada"}\n\n[]\n{"size": null, "zip": "1"}\n'
    inferred = infer(lines, "--json", name="list.jsonl")
    assert inferred.document() == {
        "fields": {
            "size": {"name": "size", "data_type": "number"},
            "vip": {"name": "vip", "data_type": "boolean"},
            "firstname": {"name": "firstName", "data_type": "text"},
            "zip": {"name": "zip", "data_type": "text"},
        }
    }
    assert inferred.messages().splitlines() == [
        "list.jsonl:3: The line must be a JSON object.",
        "Skipped 1 invalid row. `recipients check` reports them.",
        "firstname: In JSON Lines, a recipient has keys. Rename the member firstName to firstname.",
        "Proposed 4 fields for 2 recipients.",
    ]


def test_columns_that_are_fields_already_are_left_out(
    run: Callable[..., Run], core: Core, acme: OrganizationId, tmp_path: Path
) -> None:
    core.fields.create_field(acme, FieldDraft(name="Tier", data_type=DataType.TEXT))
    core.fields.create_field(acme, FieldDraft(name="Shoe size", data_type=DataType.NUMBER))
    (tmp_path / "list.csv").write_text("tier,Shoe size,Age\ngold,42,30\n")
    inferred = run(acme, "recipients", "infer", tmp_path / "list.csv", "--json")
    assert list(inferred.document()["fields"]) == ["age"]
    assert inferred.messages() == "Proposed 1 field for 1 recipient.\n"


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", "list.csv: The first line must be a header with the keys of fields."),
        ("tier,size\n", "list.csv has no recipients."),
        ("Tier,Tier \ngold,1\n", "list.csv:1: Columns 1 and 2 have the same name, Tier."),
        ("tier, \ngold,1\n", "list.csv:1: Column 2 has no name in the header."),
        (
            ",".join(f"c{n}" for n in range(1001)) + "\n" + "," * 1000,
            (
                "list.csv:2: There are more than 1,000 columns. `recipient-fields apply` can't"
                " create so many fields."
            ),
        ),
    ],
    ids=["empty", "header-only", "similar", "blank", "columns"],
)
def test_a_file_without_fields_to_propose_is_rejected(
    infer: Callable[..., Run], content: str, message: str
) -> None:
    assert infer(content).failure() == message


def test_a_file_with_only_invalid_rows_is_rejected_with_the_first_one(
    infer: Callable[..., Run],
) -> None:
    inferred = infer("tier,size\ngold\nsilver\n")
    assert (inferred.status, inferred.err) == (
        1,
        (
            "list.csv:2: The row has 1 cell, and the header has 2.\n"
            "Error: list.csv has no recipients.\n"
        ),
    )


def test_the_number_of_allowed_values_is_an_option(infer: Callable[..., Run]) -> None:
    content = "tier\n" + "gold\nsilver\n" * 3
    assert "allowed_values" in infer(content, "--max-allowed-values", 2).out
    assert "allowed_values" not in infer(content, "--max-allowed-values", 1).out


def written(number: float) -> str:
    return repr(number).replace(".", ",")


characters = st.characters(exclude_categories=["Cs"], exclude_characters="\0")
texts = st.text(characters, max_size=10)
cells_of_a_column = st.sampled_from(
    [
        texts,
        st.sampled_from(["gold", "silver", ""]),
        st.sampled_from(["gold", "o\u0308", ""]),
        st.sampled_from(["gold", " x"]),
        st.integers().map(str),
        st.floats(allow_nan=False, allow_infinity=False).map(written),
        st.from_regex("[0-9]{4,6}", fullmatch=True),
        st.sampled_from(["true", "False", ""]),
        st.dates().map(str),
        st.datetimes().map(lambda at: f"{at.isoformat(timespec='milliseconds')}Z"),
        st.sampled_from(["1", "2,5", "n/a", "2026-11-20", "true", "007"]),
    ]
)


@st.composite
def tables(draw: st.DrawFn) -> list[list[str]]:
    """Return a header with different names, and rows."""
    titles = st.text(characters, max_size=8).filter(column_name)
    header = draw(st.lists(titles, min_size=1, max_size=5, unique_by=column_name))
    columns = [draw(cells_of_a_column) for _ in header]
    rows = st.lists(st.tuples(*columns).map(list), min_size=1, max_size=12)
    return [header, *draw(rows)]


def infer_and_create(
    recipients: Iterable[Mapping[str, object]], mark: DecimalMark | None
) -> RecipientSchema:
    """Return the schema of an organization with the fields that are proposed for recipients."""
    inference = FieldInference(None if mark is None else TextFormats(decimal_mark=mark))
    for number, values in enumerate(recipients, start=1):
        inference.add(values, number)
    document = render_draft_document(each.draft for each in inference.propose())
    core = Core.over(MemoryStorage())
    organization_id = core.administration.create_organization("Acme").id
    for draft in parse_file(render_yaml(document).encode()):
        core.fields.create_field(organization_id, draft)
    return RecipientSchema.of(core.fields.list_fields(organization_id).fields)


@given(tables())
def test_the_proposed_fields_accept_each_row_of_a_csv_file(table: list[list[str]]) -> None:
    text = io.StringIO(newline="")
    csv.writer(text, delimiter=";", quoting=csv.QUOTE_ALL).writerows(table)

    content = text.getvalue().encode()
    with open_recipients(io.BytesIO(content), "list.csv", FileOptions(delimiter=";")) as reader:
        assert isinstance(reader, TextReader)
        header, recipients = reader.header, [reader.values(row) for row in reader]
    schema = infer_and_create(recipients, ",")
    keys = match_columns(header, [*schema.fields.values()])
    assert len({*keys.values()}) == len(header)
    for recipient in recipients:
        values: Any = {keys[title]: cell for title, cell in recipient.items()}
        assert RecipientTexts(schema, TextFormats(decimal_mark=",")).check(values).violations == ()


json_values = st.sampled_from(
    [
        st.floats(-1e15, 1e15) | st.integers(-(2**53) + 1, 2**53 - 1),
        st.booleans(),
        texts,
        st.sampled_from(["gold", "silver", ""]),
        st.dates().map(str),
    ]
)


@given(
    st.data(),
    st.lists(st.sampled_from(["tier", "shoe_size", "no", "true_1"]), min_size=1, unique=True),
)
def test_the_proposed_fields_accept_each_row_of_json_lines(data: st.DataObject, keys: Any) -> None:
    columns = {key: st.none() | data.draw(json_values) for key in keys}
    rows = data.draw(st.lists(st.fixed_dictionaries({}, optional=columns), min_size=1))
    content = "\n".join(map(json.dumps, rows)).encode()
    with open_recipients(io.BytesIO(content), "list.jsonl", FileOptions()) as reader:
        schema = infer_and_create(map(reader.values, reader), None)
    for row in rows:
        assert schema.check(row).violations == ()
