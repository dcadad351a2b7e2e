"""Fields as code: the documents that define the API-managed fields of an organization by key.

They can also define what fields are called at integrations.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from attrs import evolve, field, frozen

from recipient_fields.domain import (
    FIELD_MEMBERS,
    FieldDefinition,
    FieldDraft,
    FieldKey,
    InvalidInput,
    Mutability,
    RecipientField,
    Rule,
    Source,
    Violation,
    Violations,
    member_reader,
)
from recipient_fields.domain.esp import Esp
from recipient_fields.domain.integrations import Integration, SetName
from recipient_fields.domain.integrations.integration import parse_integration_name
from recipient_fields.domain.integrations.setting import names_by_key

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
class _SetName:
    """A name of a custom field."""

    name: str
    custom: bool = field(
        default=False,
        metadata=described("Whether it is a custom field although the ESP has one of this name."),
    )


@frozen
class _Integration:
    """An existing integration, and what fields are called at it."""

    name: str = field(metadata=described("Its name, which no other integration has."))
    esp: Esp
    names: dict[str, object] = field(
        metadata=described(
            "The ESP names of fields of any source, by key.",
            {
                "type": "object",
                "propertyNames": FieldKey,
                "additionalProperties": {"anyOf": [{"type": "string", "minLength": 1}, _SetName]},
            },
        )
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
    integrations: Sequence[_Integration] = field(
        default=(), metadata=described("The integrations for which names are set.")
    )


@frozen
class CatalogDocument:
    """What a document defines: API-managed fields, and the names of fields at integrations.

    The names are by keys of fields, and those by the name and the ESP of the integration.
    """

    fields: tuple[FieldDraft, ...] = ()
    names: Mapping[tuple[str, Esp], Mapping[str, SetName]] = field(factory=dict)


def parse_field_document(document: object) -> CatalogDocument:
    """Return what the document defines, in its order.

    Raises: InvalidDocument with the violations of all fields, or the first `MAX_VIOLATIONS`.
    """
    match document:
        case {"fields": list()}:
            raise InvalidDocument([Violation(Rule.TYPE, _FIELDS_BY_KEY, ("fields",))])
    parsed = parse_document(document, _Document)
    violations = Violations()
    drafts = []
    for key, members in parsed.fields.items():
        if len(violations) >= MAX_VIOLATIONS:
            break
        with violations.collect("fields", key):
            drafts.append(_parse_field(key, members))
    names: dict[tuple[str, Esp], Mapping[str, SetName]] = {}
    integrations: set[str] = set()
    for index, each in enumerate(parsed.integrations):
        with violations.collect("integrations", index):
            name, by_key = _parse_integration(each, integrations)
            names[name, each.esp] = by_key
    if violations:
        raise InvalidDocument(violations)
    return CatalogDocument(tuple(drafts), names)


def render_field_document(
    fields: Iterable[RecipientField], integrations: Iterable[Integration] = ()
) -> dict[str, object]:
    """Return the document of the API-managed fields, by key, without members at their defaults.

    `fields` are all of the organization. The document contains the names that are set for them at
    the integrations, if there are any. Equal fields have the same document, in any order.
    """
    fields = tuple(fields)
    managed = [field for field in fields if field.origin.source is Source.API]
    document: dict[str, object] = {
        "fields": {
            str(field.key): without_defaults(render_definition(field))
            for field in sorted(managed, key=lambda each: each.key)
        }
    }
    by_name = sorted(integrations, key=lambda each: (each.name, each.id))
    rendered = [_render_integration(each, fields) for each in by_name]
    with_names = [each for each in rendered if each["names"]]
    return {**document, "integrations": with_names} if with_names else document


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


def _parse_integration(
    integration: _Integration, others: set[str]
) -> tuple[str, Mapping[str, SetName]]:
    """Return the name of the integration, and the names at it. Add its name to the others."""
    violations, names = Violations(), {}
    for key, value in integration.names.items():
        with violations.collect("names", key):
            names[key] = _parse_name(value)
    name = integration.name
    with violations.collect():
        name = parse_integration_name(integration.name)
        if name in others:
            message = "The document already has this integration. Add the names to it."
            raise InvalidInput([Violation(Rule.DUPLICATE_ITEM, message, ("name",))])
        others.add(name)
    if violations:
        raise InvalidInput(violations)
    return name, names


def _parse_name(value: object) -> SetName:
    match value:
        case str():
            return SetName(value)
        case dict():
            members = parse_document(value, _SetName)
            return SetName(members.name, members.custom)
    raise InvalidInput([Violation(Rule.TYPE, "This must be a text, such as TIER.")])


def _render_integration(
    integration: Integration, fields: Iterable[RecipientField]
) -> dict[str, object]:
    return {
        "name": integration.name,
        "esp": integration.esp.value,
        "names": {
            key: render_set_name(name) for key, name in names_by_key(integration, fields).items()
        },
    }


def render_set_name(name: SetName | None) -> object:
    """Return the name as in a document, or None if there is none."""
    if name is None or not name.custom:
        return None if name is None else name.name
    return {"name": name.name, "custom": True}
