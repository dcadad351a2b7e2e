"""The documents that define the API-managed fields of an organization: `{"fields": {KEY: …}}`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from attrs import evolve, field, frozen

from recipient_fields.domain import (
    FIELD_MEMBERS,
    FieldDefinition,
    FieldDraft,
    InvalidInput,
    Mutability,
    RecipientField,
    Rule,
    Source,
    Violation,
    Violations,
    member_reader,
)

from ..documents.conversion import MAX_VIOLATIONS, InvalidDocument, parse_document, unknown_members
from ..documents.schemas import described, extended
from ..documents.value_schemas import (
    NEW_KEY,
    SENT_INSTANT,
    schema_generator,
    sent_member,
    values_by_type,
)
from .inputs import parse_draft, render_input

_MEMBERS = tuple(
    each
    for each in FIELD_MEMBERS
    if each.name != "key" and each.mutability is not Mutability.READ_ONLY
)
"""The members of a field in a document, which has the key in another place."""
_DEFAULTS = {each.name: each.default for each in _MEMBERS}
"""Members at these values can be omitted. Required members are never None."""


_FIELD_SCHEMA = {
    "type": "object",
    "required": ["name", "data_type"],
    "additionalProperties": False,
    "properties": {
        each.name: (
            sent_member(each)
            if each.default is None
            else extended(sent_member(each), default=each.default)
        )
        for each in _MEMBERS
    },
    "allOf": values_by_type(SENT_INSTANT),
}

_FIELDS_BY_KEY = (
    "This must not be a list. Write each field under its key, such as"
    " `tier: {name: Tier, data_type: text}`."
)


@frozen
class _Document:
    """The API-managed recipient fields of an organization."""

    fields: dict[str, object] = field(
        metadata=described(
            "The fields by key.",
            {"type": "object", "propertyNames": NEW_KEY, "additionalProperties": _FIELD_SCHEMA},
        )
    )


def parse_field_document(document: object) -> tuple[FieldDraft, ...]:
    """Return the fields that the document defines, in its order.

    Raises: InvalidDocument with the violations of all fields, or the first `MAX_VIOLATIONS`.
    """
    match document:
        case {"fields": list()}:
            raise InvalidDocument([Violation(Rule.TYPE, _FIELDS_BY_KEY, ("fields",))])
    violations = Violations()
    drafts = []
    for key, members in parse_document(document, _Document).fields.items():
        if len(violations) >= MAX_VIOLATIONS:
            break
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
        **_read_members(field),
        "allowed_values": None if allowed is None else list(allowed.values),
    }


_read_members = member_reader(_MEMBERS)


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
        **schema_generator().for_requests().schema(_Document),
    }


def _parse_field(key: str, members: object) -> FieldDraft:
    if type(members) is not dict:
        raise InvalidInput([Violation(Rule.TYPE, "This must be an object.")])
    violations = Violations()
    known = {name: value for name, value in members.items() if name in _DEFAULTS}
    try:
        draft = parse_draft({**known, "key": key})
    except InvalidDocument as error:
        violations += [_of_field(violation) for violation in error.violations]
    violations += unknown_members(members, _DEFAULTS)
    if violations:
        raise InvalidInput(violations)
    return draft


def _of_field(violation: Violation) -> Violation:
    """Return the violation, at the field itself if it is about the key, which is no member here."""
    return evolve(violation, path=()) if violation.path == ("key",) else violation
