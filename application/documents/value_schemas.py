"""The schemas of fields and of the values in documents, by their types.

The patterns have the same meaning in every dialect of regular expressions. A description states
what a schema can't express.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from datetime import date, datetime
from enum import Enum

from recipient_fields.domain import (
    FIELD_MEMBERS,
    MAX_LINE_LENGTH,
    MAX_SAFE_INTEGER,
    READ_ONLY_MEMBERS,
    RESERVED_KEYS,
    RESERVED_PREFIX,
    WRITABLE_MEMBERS,
    AllowedValues,
    DataType,
    FieldChanges,
    FieldDraft,
    FieldId,
    FieldKey,
    FieldMember,
    FieldName,
    InsertionCode,
    IntegrationId,
    RecordedOperation,
    Source,
    ValueExpression,
)
from recipient_fields.domain import KEY_PATTERN as KEY_RULE
from recipient_fields.domain.conditions import Operator, TextPosition
from recipient_fields.domain.content import Strict, Surface, WarningCode, WarningKind
from recipient_fields.domain.esp import BUILT_IN, Bare, Esp, NameFrom, NameState, Profiles

from .schemas import NamedSchema, Schema, SchemaGenerator, extended, named

# Character classes, unlike `\s`, are the same everywhere.
_SPACE = r"\t-\r\x1c-\x20\x85\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000"
_CONTROL = r"\x00-\x1f\x7f-\x9f\u2028\u2029"
_INNER = f"[^{_CONTROL}]"
_OUTER = rf"[^{_CONTROL}\x20\xa0\u1680\u2000-\u200a\u202f\u205f\u3000]"
_LINE_PATTERN = f"{_OUTER}(?:{_INNER}{{0,{MAX_LINE_LENGTH - 2}}}{_OUTER})?"
_VERBATIM_PATTERN = rf"^[^\x00]*[^\x00{_SPACE}][^\x00]*$"
_DATE_PATTERN = "[0-9]{4}-[0-9]{2}-[0-9]{2}"
_INSTANT_PATTERN = rf"^{_DATE_PATTERN}T[0-9]{{2}}:[0-9]{{2}}:[0-9]{{2}}\.[0-9]{{3}}Z$"
RFC_3339_PATTERN = (
    rf"^{_DATE_PATTERN}[Tt](?:[01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9](?:\.[0-9]{{1,3}})?"
    r"(?:[Zz]|[+-](?:[01][0-9]|2[0-3]):[0-5][0-9])$"
)
ID_PATTERN = "^[1-9][0-9]{0,15}$"
KEY_PATTERN = f"^{KEY_RULE}$"

ID: Schema = {"type": "integer", "minimum": 1, "maximum": MAX_SAFE_INTEGER}

_MEMBERS = {each.name: each for each in FIELD_MEMBERS}


def _enumeration(kind: type[Enum], description: str | None = None) -> NamedSchema:
    schema = {"type": "string", "enum": [each.value for each in kind]}
    if description is not None:
        schema["description"] = description
    return NamedSchema(kind.__name__, schema)


def _verbatim(name: str, member: str, example: str) -> NamedSchema:
    """Return the schema of a nullable text that is stored as it is."""
    return named(
        name,
        type=["string", "null"],
        minLength=1,
        maxLength=_MEMBERS[member].max_length,
        pattern=_VERBATIM_PATTERN,
        description=_MEMBERS[member].description,
        examples=[example],
    )


_KEY: Schema = {
    "type": "string",
    "minLength": 1,
    "maxLength": _MEMBERS["key"].max_length,
    "pattern": KEY_PATTERN,
    "description": _MEMBERS["key"].description,
    "examples": ["loyalty_tier"],
}
NEW_KEY = NamedSchema(
    "NewKey",
    {
        **_KEY,
        "not": {"anyOf": [{"enum": sorted(RESERVED_KEYS)}, {"pattern": f"^{RESERVED_PREFIX}"}]},
        "description": (
            "The name of the field for programs. It is unique in the organization, across origins,"
            " and never changes. If a create omits it, the service derives it from the name:"
            " `Größe (cm)` becomes `grosse_cm`. A key is required if the name has no letters or"
            " digits, or has some without a form in a-z and 0-9 (`日本`, `Størrelse`)."
        ),
    },
)
"""The key of a field that does not exist yet. Some existing fields have reserved keys."""
_NEW_NAME = named(
    "NewName",
    type="string",
    pattern=f"^[{_SPACE}]*{_LINE_PATTERN}[{_SPACE}]*$",
    description=(
        "The name of the field for people. It is stored in Unicode NFC, without leading or "
        f"trailing white space, and has 1 to {MAX_LINE_LENGTH} characters on one line in that "
        "form. It need not be unique."
    ),
    examples=["Loyalty tier"],
)
_LINE = named(
    "Line",
    type="string",
    minLength=1,
    maxLength=MAX_LINE_LENGTH,
    pattern=f"^{_LINE_PATTERN}$",
    description="One line of text without leading or trailing white space.",
)
SENT_INSTANT = NamedSchema(
    "Rfc3339Timestamp", {"type": "string", "format": "date-time", "pattern": RFC_3339_PATTERN}
)
FIELD_REFERENCE = named(
    "FieldReference",
    oneOf=[ID, NEW_KEY],
    description="The id of the field, or its key.",
    examples=["loyalty_tier"],
)
ENTITY_TAG = named(
    "EntityTag",
    type=["string", "null"],
    # Any text but `*`, with or without quotes.
    pattern=r'^(?:"[\x21\x23-\x7e]+"|[\x21\x23-\x29\x2b-\x7e]|[\x21\x23-\x7e]{2,})$',
)
RECIPIENT = named(
    "Recipient",
    type="object",
    additionalProperties=True,
    description="The values of a recipient, by the keys of the fields.",
)


def _origin(**types: str) -> Schema:
    return {"properties": {name: {"type": each} for name, each in types.items()}}


def values_by_type(instant: object) -> list[Schema]:
    """Return what each data type permits in `allowed_values`. `instant` is the form of a time."""
    number = {"type": "number", "minimum": -MAX_SAFE_INTEGER, "maximum": MAX_SAFE_INTEGER}
    items = {
        DataType.TEXT: _LINE,
        DataType.NUMBER: number,
        DataType.DATE: date,
        DataType.DATETIME: instant,
    }
    return [
        {
            "if": {"properties": {"data_type": {"const": data_type.value}}},
            "then": {
                "properties": {
                    "allowed_values": (
                        {"items": items[data_type]} if data_type in items else {"type": "null"}
                    )
                }
            },
        }
        for data_type in DataType
    ]


_TYPES: Mapping[object, object] = {
    date: {"type": "string", "format": "date", "pattern": f"^{_DATE_PATTERN}$"},
    datetime: named(
        "Timestamp",
        type="string",
        format="date-time",
        pattern=_INSTANT_PATTERN,
        examples=["2026-11-20T09:15:00.123Z"],
    ),
    AllowedValues | None: named(
        "AllowedValues",
        type=["array", "null"],
        minItems=1,
        maxItems=_MEMBERS["allowed_values"].max_items,
        uniqueItems=True,
        items={"type": ["string", "number"]},
        description=_MEMBERS["allowed_values"].description,
    ),
    DataType: _enumeration(DataType, _MEMBERS["data_type"].description),
    FieldId: ID,
    FieldKey: NamedSchema("Key", _KEY),
    FieldName: _LINE,
    InsertionCode | None: _verbatim(
        "InsertionCode", "custom_insertion_code", "%%=v(@firstName)=%%"
    ),
    IntegrationId: ID,
    NameFrom: _enumeration(
        NameFrom,
        "Where the name comes from: the field's own code, a name that was set for the integration,"
        " a synced field of the integration, or the convention of the ESP.",
    ),
    NameState: _enumeration(
        NameState,
        "Whether the ESP has a field with this name: the last sync listed it, the ESP lists all its"
        " fields and not this one, or no sync can tell.",
    ),
    Operator: _enumeration(Operator).schema,
    RecordedOperation: _enumeration(RecordedOperation, "What the change did to the field."),
    Source: _enumeration(Source, _MEMBERS["source"].description),
    Strict: {"oneOf": [{"type": "boolean"}, {"type": "string", "const": "mistakes"}]},
    Bare: _enumeration(Bare, "What a name means that can be a field or event data."),
    Surface: _enumeration(Surface, "Where an email shows content."),
    TextPosition: named(
        "TextPosition",
        type="object",
        description="A place in a text.",
        required=["line", "column"],
        properties={"line": ID, "column": ID},
    ),
    ValueExpression | None: _verbatim("ValueExpression", "custom_value_expression", "@firstName"),
    WarningCode: _enumeration(WarningCode, "What the warning is about. docs/errors.md lists them."),
    WarningKind: _enumeration(
        WarningKind,
        "A mistake is certainly wrong in the content. A caveat depends on the ESP or its account.",
    ),
}


def _stored(member: FieldMember) -> object:
    """Return the schema of a member of a stored field."""
    kind = member.kind | None if member.nullable else member.kind
    known = _TYPES.get(kind)
    if isinstance(known, NamedSchema) and known.schema.get("description") == member.description:
        return known
    limits = {"minLength": 1, "maxLength": member.max_length} if member.kind is str else {}
    return extended(kind, **limits, description=member.description)


def sent_member(member: FieldMember) -> object:
    """Return the schema of a member in a request that sets it."""
    return {"name": _NEW_NAME, "key": NEW_KEY}.get(member.name, _stored(member))


def _request(
    name: str, description: str, others: Schema, required: Collection[str] = ()
) -> NamedSchema:
    """Return the schema of a field in a request. `others` are the members that are not writable."""
    writable = {each: sent_member(_MEMBERS[each]) for each in WRITABLE_MEMBERS}
    rules = {"required": list(required), "allOf": values_by_type(SENT_INSTANT)}
    return named(
        name,
        type="object",
        description=description,
        properties={**writable, **others},
        additionalProperties=False,
        **(rules if required else {}),
    )


_REQUIRED = ("name", "data_type")
_READ_ONLY = {name: extended(_stored(_MEMBERS[name]), readOnly=True) for name in READ_ONLY_MEMBERS}
_ECHO_RULE = (
    "Read-only members are accepted if they equal the stored values, so a field that was read can "
    "be sent back."
)
_REQUESTS: Mapping[object, object] = {
    FieldDraft: _request(
        "RecipientFieldDraft",
        "A new field.",
        {
            "key": NEW_KEY,
            "data_type": DataType,
            "source": {"type": "string", "const": Source.API.value, "readOnly": True},
            "integration_id": {"type": "null", "readOnly": True},
            "esp_field_name": {"type": "null", "readOnly": True},
        },
        _REQUIRED,
    ),
    FieldChanges: _request(
        "RecipientFieldChanges",
        f"The members to change. Omitted members stay the same. {_ECHO_RULE}",
        {
            **_READ_ONLY,
            "key": extended(FieldKey, readOnly=True),
            "data_type": extended(DataType, readOnly=True),
        },
    ),
}
REPLACEMENT = _request(
    "RecipientFieldReplacement",
    "The new state of the field. Omitted members get their defaults. `data_type` must be the "
    f"stored one, and `key` the one in the path. {_ECHO_RULE}",
    {
        **_READ_ONLY,
        "key": extended(NEW_KEY, description="The key in the path, or omitted.", readOnly=True),
        "data_type": DataType,
    },
    _REQUIRED,
)
STORED_FIELD: Schema = {
    "properties": {each.name: _stored(each) for each in FIELD_MEMBERS},
    "allOf": [
        *values_by_type(datetime),
        {
            "if": {"properties": {"source": {"const": Source.INTEGRATION.value}}},
            "then": _origin(integration_id="integer", esp_field_name="string"),
            "else": _origin(integration_id="null", esp_field_name="null"),
        },
    ],
}
"""The members of a field in a response, and the rules between them."""


def schema_generator(
    profiles: Profiles = BUILT_IN, *, prefix: str | None = None
) -> SchemaGenerator:
    """Return a generator that knows the types in documents, and the ESPs with a profile."""
    esps = NamedSchema("Esp", {"type": "string", "enum": [*map(str, profiles.esps)]})
    return SchemaGenerator(types={**_TYPES, **_REQUESTS, Esp: esps}, prefix=prefix)
