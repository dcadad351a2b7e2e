"""The JSON Schema of recipients' data, and its types of Python and TypeScript."""

from __future__ import annotations

import os
from typing import Any

import jsonschema_rs
from hypothesis import example, given, settings
from hypothesis import strategies as st
from mypy import api as mypy

from recipient_fields.application.recipients.documents import (
    render_json_schema,
    render_python_types,
    render_typescript_types,
)
from recipient_fields.domain import (
    API,
    AllowedValues,
    DataType,
    FieldDraft,
    FieldId,
    OrganizationId,
    RecipientField,
    RecipientSchema,
)
from recipient_fields.testing.examples import NOW
from recipient_fields.testing.strategies import allowed_values

RECIPIENTS = 5
"""Recipients of each generated schema."""
EXAMPLES = int(os.environ.get("RECIPIENT_FIELDS_CHECKED_RECIPIENTS", "1000")) // RECIPIENTS
"""`make test-long` checks 100,000 generated recipients."""

ALLOWED: dict[DataType, list[Any]] = {
    DataType.TEXT: ["gold", 'a "quoted" \\ value', "Zoë"],
    DataType.NUMBER: [0, 1.5, -3],
    DataType.DATE: ["2026-11-20"],
    DataType.DATETIME: ["2026-11-20T09:15:00.000Z"],
}


def a_field(
    key: str, data_type: DataType, allowed: AllowedValues | list[Any] | None = None
) -> RecipientField:
    draft = FieldDraft(name=f"The {key}", key=key, data_type=data_type, allowed_values=allowed)
    return draft.define(by=API, at=NOW).with_id(FieldId(1), OrganizationId(1))


FIELDS = [
    *(a_field(f"{data_type.value}_any", data_type) for data_type in DataType),
    *(a_field(f"{each.value}_restricted", each, values) for each, values in ALLOWED.items()),
]
SCHEMA = RecipientSchema.of(FIELDS)

numbers = (
    st.integers()
    | st.floats(allow_nan=False)
    | st.sampled_from([2**53 - 1, 2**53, -(2**53), 1.0, 1e300])
)
digits = st.integers(0, 99).map("{:02}".format)
times = st.builds(
    "{}-{}-{}{}{}:{}:{}{}{}".format,
    st.sampled_from(["2026", "1999", "0000", "9998", "26"]),
    digits,
    digits,
    st.sampled_from("Tt _"),
    digits,
    digits,
    digits,
    st.sampled_from(["", ".1", ".123", ".1234", "."]),
    st.sampled_from(["Z", "z", "+00:00", "-23:59", "+24:00", "+01:60", "", "+0100"]),
)
plausible_times = st.datetimes().map(lambda at: f"{at.isoformat(timespec='milliseconds')}Z")
dates = st.dates().map(str) | st.builds("{}-{}-{}".format, st.just("2026"), digits, digits)
values: st.SearchStrategy[Any] = (
    st.none()
    | st.booleans()
    | numbers
    | st.text(max_size=8)
    | times
    | plausible_times
    | dates
    | st.lists(st.integers(), max_size=2)
    | st.just({})
)


@st.composite
def cases(draw: st.DrawFn) -> tuple[RecipientSchema, list[dict[str, Any]]]:
    """Generate a schema with one or two fields, and five recipients."""
    fields = [draw(fields_with(key)) for key in draw(st.sampled_from(["a", "ab"]))]
    known = {str(field.key): values_for(field) for field in fields}
    recipients = st.fixed_dictionaries({}, optional={**known, "other": values})
    schema = RecipientSchema.of(fields, additional=draw(st.booleans()))
    return schema, draw(st.lists(recipients, min_size=RECIPIENTS, max_size=RECIPIENTS))


@st.composite
def fields_with(draw: st.DrawFn, key: str) -> RecipientField:
    data_type = draw(st.sampled_from(DataType))
    return a_field(key, data_type, draw(st.none() | allowed_values(data_type, max_size=3)))


def values_for(field: RecipientField) -> st.SearchStrategy[Any]:
    allowed = field.allowed_values
    return values if allowed is None else st.sampled_from(allowed.values) | values


def accepts(schema: RecipientSchema, recipient: dict[str, Any]) -> bool:
    """Return whether the check accepts the recipient in a form that JSON Schema can express.

    Date-times with allowed values must be in canonical form, and values that are not set null.
    """
    checked = schema.check(recipient)
    canonical = all(
        checked.values.get(key) == recipient.get(key)
        for key, field in schema.fields.items()
        if field.data_type is DataType.DATETIME and field.allowed_values is not None
    )
    return canonical and not checked.violations


@settings(max_examples=EXAMPLES)
@given(cases())
@example((SCHEMA, [{"date_any": "2026-02-30"}, {"number_restricted": -3.0}]))
def test_the_schema_accepts_what_the_check_accepts(case):
    schema, recipients = case
    validator = jsonschema_rs.Draft202012Validator(
        render_json_schema(schema), validate_formats=True
    )
    for recipient in recipients:
        unset = {key for key, value in recipient.items() if value == "" and key in schema.fields}
        null = {**recipient, **dict.fromkeys(unset)}
        assert validator.is_valid(null) == accepts(schema, null)
        assert schema.check(null).values == schema.check(recipient).values


@settings(max_examples=EXAMPLES)
@given(cases())
def test_a_second_check_changes_nothing(case):
    schema, recipients = case
    for recipient in recipients:
        checked = schema.check(recipient)
        again = schema.check(checked.values)
        assert again.violations == ()
        assert repr(again.values) == repr(checked.values)


def test_an_instant_at_another_offset_is_accepted_by_the_check_only() -> None:
    values = {"datetime_restricted": "2026-11-20T10:15:00+01:00"}
    validator = jsonschema_rs.Draft202012Validator(render_json_schema(SCHEMA))
    assert not validator.is_valid(values)
    assert SCHEMA.check(values).violations == ()


def test_the_schema_names_its_fields() -> None:
    schema: Any = render_json_schema(SCHEMA)
    assert schema["properties"]["text_any"]["title"] == "The text_any"
    assert schema["properties"]["text_restricted"]["enum"] == [*ALLOWED[DataType.TEXT], None]
    assert schema["additionalProperties"] is False


PROGRAM = """
valid: Recipient = {"text_any": "x", "number_any": 1.5, "boolean_any": True, "date_any": None}
also: Recipient = {"text_restricted": "Zo\\u00eb", "number_restricted": 1.5}
typo: Recipient = {"text_anny": "x"}
other: Recipient = {"text_restricted": "silver"}
kind: Recipient = {"boolean_any": "yes"}
"""


def test_mypy_reads_the_python_types() -> None:
    report, _, _ = mypy.run(
        [
            "--strict",
            "--config-file=",
            "--no-incremental",
            "-c",
            render_python_types(SCHEMA) + PROGRAM,
        ]
    )
    first = len(render_python_types(SCHEMA).splitlines()) + 1
    lines = [line for line in report.splitlines() if " error: " in line]
    assert [line.split(":")[1] for line in lines] == [str(first + n) for n in (3, 4, 5)]
    assert 'Extra key "text_anny"' in lines[0]


def test_the_typescript_types_list_the_allowed_values() -> None:
    lines = render_typescript_types(SCHEMA).splitlines()
    assert r'  text_restricted?: "gold" | "a \"quoted\" \\ value" | "Zo\u00eb" | null;' in lines
    assert "  number_restricted?: 0 | 1.5 | -3 | null;" in lines
    assert "  datetime_restricted?: string | null;" in lines


def test_the_keys_of_counterparts_are_deprecated() -> None:
    schema = RecipientSchema.of(FIELDS[:2], definitions={FIELDS[1].key: FIELDS[0].key})
    first, second = schema.fields
    properties: Any = render_json_schema(schema)["properties"]
    assert "deprecated" not in properties[first]
    assert properties[second]["deprecated"] is True
    assert f"        # Deprecated: use {first}.\n" in render_python_types(schema)
    assert f"  /** @deprecated Use {first}. */\n  {second}?: " in render_typescript_types(schema)
