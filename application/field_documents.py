"""The documents that define the API-managed fields of an organization: `{"fields": {KEY: …}}`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from attrs import evolve, frozen

from recipient_fields.domain import (
    MAX_ALLOWED_VALUES,
    MAX_KEY_LENGTH,
    MAX_SAFE_INTEGER,
    RESERVED_KEYS,
    RESERVED_PREFIX,
    DataType,
    FieldDefinition,
    FieldDraft,
    InvalidInput,
    RecipientField,
    Rule,
    Source,
    Violation,
    Violations,
)

from .conversion import InvalidDocument, parse_document, unknown_members
from .documents import parse_draft, render_input

_DEFAULTS = {
    "name": None,
    "data_type": None,
    "allowed_values": None,
    "insertable": True,
    "custom_insertion_code": None,
    "custom_value_expression": None,
}
"""The members of a field in a document, and their defaults. Required members have no default."""


@frozen
class _Document:
    fields: dict[str, object]


def parse_field_document(document: object) -> tuple[FieldDraft, ...]:
    """Return the fields that the document defines, in its order.

    Raises: InvalidDocument with the violations of all fields.
    """
    violations = Violations()
    drafts = []
    for key, members in parse_document(document, _Document).fields.items():
        with violations.collect("fields", key):
            drafts.append(_parse_field(key, members))
    if violations:
        raise InvalidDocument(violations)
    return tuple(drafts)


def render_field_document(fields: Iterable[RecipientField]) -> dict[str, object]:
    """Return the document of the API-managed fields, by key, without members at their defaults.

    Equal fields have the same document, in any order.
    """
    managed = [field for field in fields if field.origin.source is Source.API]
    return {
        "fields": {
            str(field.key): without_defaults(render_definition(field))
            for field in sorted(managed, key=lambda each: each.key)
        }
    }


def render_draft_document(drafts: Iterable[FieldDraft]) -> dict[str, object]:
    """Return the document of new fields, in their order, without members at their defaults."""
    bodies: list[Any] = [render_input(draft)["recipient_field"] for draft in drafts]
    return {
        "fields": {
            members["key"]: without_defaults({name: members[name] for name in _DEFAULTS})
            for members in bodies
        }
    }


def render_definition(field: FieldDefinition) -> dict[str, object]:
    """Return the members of a field that a document can define."""
    allowed = field.allowed_values
    return {
        "name": str(field.name),
        "data_type": field.data_type.value,
        "allowed_values": None if allowed is None else list(allowed.values),
        "insertable": field.insertable,
        "custom_insertion_code": field.custom_insertion_code,
        "custom_value_expression": field.custom_value_expression,
    }


def without_defaults(members: Mapping[str, object]) -> dict[str, object]:
    """Return the members that differ from their defaults, in the order of a document."""
    return {name: value for name, value in members.items() if value != _DEFAULTS[name]}


def field_document_schema() -> dict[str, object]:
    """Return the JSON Schema of the documents, for editors.

    It can't express all rules: a document that it accepts can still have violations.
    """
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Recipient fields",
        "description": "The API-managed recipient fields of an organization.",
        "type": "object",
        "required": ["fields"],
        "additionalProperties": False,
        "properties": {
            "fields": {
                "description": "The fields by key.",
                "type": "object",
                "propertyNames": _KEY_SCHEMA,
                "additionalProperties": _FIELD_SCHEMA,
            }
        },
    }


def _parse_field(key: str, members: object) -> FieldDraft:
    if type(members) is not dict:
        raise InvalidInput([Violation(Rule.TYPE, "This must be an object.")])
    violations = Violations()
    known = {name: value for name, value in members.items() if name in _DEFAULTS}
    try:
        draft = parse_draft({"recipient_field": {**known, "key": key}})
    except InvalidDocument as error:
        violations += [_without_envelope(violation) for violation in error.violations]
    violations += unknown_members(members, _DEFAULTS)
    if violations:
        raise InvalidInput(violations)
    return draft


def _without_envelope(violation: Violation) -> Violation:
    """Return the violation with a path that begins at the field.

    The path is empty for a violation of the key, which is not a member of the field here.
    """
    path = violation.path[1:]
    return evolve(violation, path=() if path == ("key",) else path)


def _text_schema(description: str, max_length: int) -> dict[str, object]:
    return {
        "description": description,
        "type": ["string", "null"],
        "minLength": 1,
        "maxLength": max_length,
    }


def _values_schema(data_type: DataType) -> dict[str, object]:
    """Return the schema of a field of this data type."""
    number = {"type": "number", "minimum": -MAX_SAFE_INTEGER, "maximum": MAX_SAFE_INTEGER}
    items: dict[DataType, dict[str, object]] = {
        DataType.TEXT: {"type": "string", "minLength": 1, "maxLength": 255},
        DataType.NUMBER: {"anyOf": [number, {"type": "number", "not": {"type": "integer"}}]},
        DataType.DATE: {"type": "string", "format": "date"},
        DataType.DATETIME: {"type": "string", "format": "date-time"},
    }
    values = {"items": items[data_type]} if data_type in items else {"type": "null"}
    return {
        "if": {"properties": {"data_type": {"const": data_type.value}}},
        "then": {"properties": {"allowed_values": values}},
    }


_KEY_SCHEMA: dict[str, object] = {
    "pattern": rf"^(?!{RESERVED_PREFIX})[a-z][a-z0-9]*(_[a-z0-9]+)*$",
    "maxLength": MAX_KEY_LENGTH,
    "not": {"enum": sorted(RESERVED_KEYS)},
}

_FIELD_SCHEMA: dict[str, object] = {
    "type": "object",
    "required": ["name", "data_type"],
    "additionalProperties": False,
    "properties": {
        "name": {
            "description": "The display name: one line.",
            "type": "string",
            "minLength": 1,
        },
        "data_type": {
            "description": "The type of the values that recipients have.",
            "enum": [data_type.value for data_type in DataType],
        },
        "allowed_values": {
            "description": "The only values that recipients can have. null allows every value.",
            "type": ["array", "null"],
            "minItems": 1,
            "maxItems": MAX_ALLOWED_VALUES,
            "uniqueItems": True,
        },
        "insertable": {
            "description": "Whether the field can be inserted into content.",
            "type": "boolean",
            "default": True,
        },
        "custom_insertion_code": _text_schema(
            "The whole snippet that replaces the field in exported content.", 10_000
        ),
        "custom_value_expression": _text_schema(
            "The expression evaluated in segment logic.", 2_000
        ),
    },
    "allOf": [_values_schema(data_type) for data_type in DataType],
}
