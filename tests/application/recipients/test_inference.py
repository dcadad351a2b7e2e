"""Proposals of fields for the recipients in a file, which accept them."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterable, Mapping
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recipient_fields.adapters.memory import MemoryStorage
from recipient_fields.application import Core
from recipient_fields.application.fields.fields_as_code import (
    parse_field_document,
    render_draft_document,
)
from recipient_fields.application.ports.recipients import (
    FileOptions,
    Row,
    TextReader,
    UnreadableFile,
)
from recipient_fields.application.recipients.inference import InferredFields, infer_fields
from recipient_fields.domain import (
    DecimalMark,
    FieldInference,
    RecipientSchema,
    RecipientTexts,
    TextFormats,
    clean_line,
    match_columns,
)
from recipient_fields.entrypoints.service.selection import open_recipients


def infer(content: str, name: str = "list.csv", **options: Any) -> InferredFields:
    options.setdefault("formats", TextFormats())
    with open_recipients(io.BytesIO(content.encode()), name, FileOptions()) as reader:
        return infer_fields(reader, **options)


@pytest.mark.parametrize(
    ("content", "message"),
    [
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
    ids=["header-only", "similar", "blank", "columns"],
)
def test_a_file_without_fields_to_propose_is_rejected(content, message):
    with pytest.raises(UnreadableFile) as rejected:
        infer(content)
    assert str(rejected.value) == message


def test_the_first_row_that_is_no_recipient_is_reported() -> None:
    skipped: list[Row] = []
    inferred = infer("tier,size\ngold\nsilver\ngold,1\n", on_first_skipped=skipped.append)
    assert [row.line for row in skipped] == [2]
    assert (inferred.recipients, inferred.skipped) == (1, 2)
    with pytest.raises(UnreadableFile, match=r"list\.csv has no recipients"):
        infer("tier,size\ngold\n", on_first_skipped=skipped.append)
    assert len(skipped) == 2


def test_formats_apply_only_to_texts() -> None:
    formats = TextFormats(decimal_mark=",")
    [of_texts] = infer("a;b\n1,5;x\n", formats=formats).proposed[:1]
    [of_values] = infer('{"a": 1.5}\n', "list.jsonl", formats=formats).proposed
    assert of_texts.draft.data_type is of_values.draft.data_type


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
    titles = st.text(characters, max_size=8).filter(clean_line)
    header = draw(st.lists(titles, min_size=1, max_size=5, unique_by=clean_line))
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
    for draft in parse_field_document(document).fields:
        core.fields.create_field(organization_id, draft)
    return RecipientSchema.of(core.fields.list_fields(organization_id).fields)


@given(tables())
def test_the_proposed_fields_accept_each_row_of_a_csv_file(table):
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
def test_the_proposed_fields_accept_each_row_of_json_lines(data, keys):
    columns = {key: st.none() | data.draw(json_values) for key in keys}
    rows = data.draw(st.lists(st.fixed_dictionaries({}, optional=columns), min_size=1))
    content = "\n".join(map(json.dumps, rows)).encode()
    with open_recipients(io.BytesIO(content), "list.jsonl", FileOptions()) as reader:
        schema = infer_and_create(map(reader.values, reader), None)
    for row in rows:
        assert schema.check(row).violations == ()
