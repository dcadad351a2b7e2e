"""The documents of recipients, and their schema as JSON Schema and as types of two languages."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence

from attrs import field, frozen

from recipient_fields.domain import (
    MAX_SAFE_INTEGER,
    DataType,
    Field,
    RecipientSchema,
    Rule,
    Unchanged,
    Violation,
)

from ..documents.conversion import checked, parse_document
from ..documents.schemas import described, omittable
from ..documents.value_schemas import RECIPIENT
from ..documents.violations import ErrorDetailDocument

MAX_CHECKED_RECIPIENTS = 1_000
"""The maximum number of recipients in one document."""


@frozen
class RecipientListDocument:
    """Recipients to check."""

    recipients: list[object] = field(
        metadata=described(
            schema={
                "type": "array",
                "minItems": 1,
                "maxItems": MAX_CHECKED_RECIPIENTS,
                "items": RECIPIENT,
            }
        )
    )


@frozen(kw_only=True)
class RecipientCheckDocument:
    """The recipient with converted values if it is valid. Otherwise, violations."""

    valid: bool
    recipient: Mapping[str, object] | Unchanged = omittable(schema=RECIPIENT)
    violations: Sequence[ErrorDetailDocument] | Unchanged = omittable(
        "After 10,000 violations, a response has only the first one of each recipient.",
        minItems=1,
    )


@frozen
class RecipientCheckListDocument:
    """The results of the recipients, in order."""

    results: Sequence[RecipientCheckDocument]


def parse_recipients(document: object) -> Sequence[Mapping[str, object]]:
    """Return the recipients of the document, whose values are not checked yet.

    Raises: InvalidDocument if it has no recipients or more than 1,000, or if one is not an object.
    """
    # The schema checks the texts in recipients, and reports them per recipient.
    names = list(document) if isinstance(document, dict) else []
    with checked(dict.fromkeys(names)) as violations:
        recipients = parse_document(document, RecipientListDocument).recipients
        violations += _count_violations(len(recipients))
        objects = []
        for index, recipient in enumerate(recipients[:MAX_CHECKED_RECIPIENTS]):
            if isinstance(recipient, dict):
                objects.append(recipient)
            else:
                violations.append(
                    Violation(Rule.TYPE, "This must be an object.", ("recipients", index))
                )
    return objects


def _count_violations(count: int) -> list[Violation]:
    if not count:
        return [Violation(Rule.EMPTY, "Send at least one recipient.", ("recipients",))]
    if count > MAX_CHECKED_RECIPIENTS:
        message = f"Send at most {MAX_CHECKED_RECIPIENTS:,} recipients."
        return [Violation(Rule.TOO_MANY_ITEMS, message, ("recipients",))]
    return []


_DATE = r"(?!0000)[0-9]{4}-[0-9]{2}-[0-9]{2}"
_TIME = r"([01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9](\.[0-9]{1,3})?"
_TYPES: Mapping[DataType, Mapping[str, object]] = {
    DataType.TEXT: {"type": ["string", "null"], "pattern": r"^[^\u0000]*$"},
    DataType.NUMBER: {
        "type": ["number", "null"],
        "minimum": -MAX_SAFE_INTEGER,
        "maximum": MAX_SAFE_INTEGER,
    },
    DataType.BOOLEAN: {"type": ["boolean", "null"]},
    DataType.DATE: {"type": ["string", "null"], "format": "date", "pattern": f"^{_DATE}$"},
    DataType.DATETIME: {
        "type": ["string", "null"],
        "format": "date-time",
        "pattern": f"^{_DATE}[Tt]{_TIME}([Zz]|[+-][0-9]{{2}}:[0-5][0-9])$",
    },
}
_PYTHON_TYPES = {DataType.NUMBER: "float", DataType.BOOLEAN: "bool"}
_TYPESCRIPT_TYPES = {DataType.NUMBER: "number", DataType.BOOLEAN: "boolean"}


def render_json_schema(schema: RecipientSchema) -> dict[str, object]:
    """Return the JSON Schema (2020-12) of a recipient's data.

    The keys of fields for which others stand are deprecated. The schema accepts what
    `RecipientSchema.check` accepts, with three exceptions that JSON Schema can't express. It does
    not reject several values of one field. For a date-time field with allowed values it accepts
    only their canonical form, not the same instant at another offset. It does not reject an instant
    that is outside the years 1 to 9999 only in UTC. It requires null for a value that is not set,
    where the check also accepts an empty text.
    """
    replaced = schema.definitions
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Recipient",
        "type": "object",
        "properties": {
            key: {**_field_schema(field), **({"deprecated": True} if key in replaced else {})}
            for key, field in schema.fields.items()
        },
        "additionalProperties": schema.additional,
    }


def render_python_types(schema: RecipientSchema) -> str:
    """Return a Python module with the type of a recipient's data, a TypedDict."""
    members = _members(
        schema,
        lambda key, field: f"        {_literal(key)}: {_python_type(field)} | None,\n",
        deprecation="        # Deprecated: use {}.\n",
    )
    return f"""\
\"""The type of a recipient's data. Generated from the recipient fields.\"""

from typing import Literal, TypedDict

Recipient = TypedDict(
    "Recipient",
    {{
{members}    }},
    total=False,
)
"""


def render_typescript_types(schema: RecipientSchema) -> str:
    """Return a TypeScript module with the type of a recipient's data, an interface."""
    members = _members(
        schema,
        lambda key, field: f"  {key}?: {_typescript_type(field)} | null;\n",
        deprecation="  /** @deprecated Use {}. */\n",
    )
    return f"""\
/** The type of a recipient's data. Generated from the recipient fields. */
export interface Recipient {{
{members}}}
"""


def _members(
    schema: RecipientSchema, write: Callable[[str, Field], str], *, deprecation: str
) -> str:
    """Return the members of a type. A field for which another stands is deprecated."""
    replaced = schema.definitions
    return "".join(
        (deprecation.format(replaced[key]) if key in replaced else "") + write(key, field)
        for key, field in schema.fields.items()
    )


def _field_schema(field: Field) -> dict[str, object]:
    schema = {"title": str(field.name), **_TYPES[field.data_type]}
    if field.allowed_values is not None:
        schema["enum"] = [*field.allowed_values.values, None]
    return schema


def _python_type(field: Field) -> str:
    values = _allowed(field)
    if values and not any(isinstance(value, float) for value in values):
        return f"Literal[{', '.join(map(_literal, values))}]"
    return _PYTHON_TYPES.get(field.data_type, "str")


def _typescript_type(field: Field) -> str:
    return " | ".join(map(_literal, _allowed(field))) or _TYPESCRIPT_TYPES.get(
        field.data_type, "string"
    )


def _allowed(field: Field) -> Sequence[object]:
    """Return the allowed values that a type can list. An instant has several forms, so none."""
    if field.allowed_values is None or field.data_type is DataType.DATETIME:
        return ()
    return field.allowed_values.values


def _literal(value: object) -> str:
    """Return a string or a number as a literal of Python and of TypeScript."""
    return json.dumps(value)
