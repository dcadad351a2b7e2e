"""The JSON Schemas (2020-12) of requests and responses (HTTP contract, sections 2 and 6).

A description states what a schema can't express.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeAlias

from recipient_fields import domain
from recipient_fields.application.conversion import MAX_VIOLATIONS
from recipient_fields.application.esp_code_documents import MAX_CONTENT_LENGTH
from recipient_fields.application.recipient_documents import MAX_CHECKED_RECIPIENTS
from recipient_fields.domain import (
    FIELD_MEMBERS,
    MAX_BATCH_OPERATIONS,
    MAX_LINE_LENGTH,
    MAX_SAFE_INTEGER,
    READ_ONLY_MEMBERS,
    RESERVED_KEYS,
    RESERVED_PREFIX,
    WRITABLE_MEMBERS,
    DataType,
    RecordedOperation,
    Rule,
    Source,
)
from recipient_fields.domain.conditions import Operator
from recipient_fields.domain.esp import Esp

from ..problems import STATUSES

Schema: TypeAlias = Mapping[str, Any]

# Character classes with the same meaning in every dialect of regular expressions, unlike `\s`.
_SPACE = r"\t-\r\x1c-\x20\x85\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000"
_CONTROL = r"\x00-\x1f\x7f-\x9f\u2028\u2029"
_INNER = f"[^{_CONTROL}]"
_OUTER = rf"[^{_CONTROL}\x20\xa0\u1680\u2000-\u200a\u202f\u205f\u3000]"

KEY_PATTERN = f"^{domain.KEY_PATTERN}$"
ID_PATTERN = "^[1-9][0-9]{0,15}$"
LINE_PATTERN = f"^{_OUTER}(?:{_INNER}{{0,{MAX_LINE_LENGTH - 2}}}{_OUTER})?$"
_NAME_PATTERN = f"^[{_SPACE}]*{LINE_PATTERN[1:-1]}[{_SPACE}]*$"
_VERBATIM_PATTERN = rf"^[^\x00]*[^\x00{_SPACE}][^\x00]*$"
_DATE_PATTERN = "^[0-9]{4}-[0-9]{2}-[0-9]{2}$"
_INSTANT_PATTERN = r"^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}\.[0-9]{3}Z$"
RFC_3339_PATTERN = (
    r"^[0-9]{4}-[0-9]{2}-[0-9]{2}[Tt](?:[01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9](?:\.[0-9]{1,3})?"
    r"(?:[Zz]|[+-](?:[01][0-9]|2[0-3]):[0-5][0-9])$"
)


def ref(name: str, description: str | None = None) -> Schema:
    """Return a reference to the schema with this name."""
    reference = {"$ref": f"#/components/schemas/{name}"}
    return reference if description is None else {**reference, "description": description}


def _nullable(schema: Schema) -> Schema:
    kind = schema["type"]
    return {**schema, "type": [kind, "null"]}


def _verbatim(member: str) -> Schema:
    """Return the schema of a nullable text that is stored as it is."""
    return {
        "type": ["string", "null"],
        "minLength": 1,
        "maxLength": _DESCRIBED[member].max_length,
        "pattern": _VERBATIM_PATTERN,
    }


_DESCRIBED = {each.name: each for each in FIELD_MEMBERS}


_INSTANT: Schema = {
    "type": "string",
    "format": "date-time",
    "pattern": _INSTANT_PATTERN,
    "examples": ["2026-11-20T09:15:00.123Z"],
}
_INSERTION_CODE: Schema = {
    **_verbatim("custom_insertion_code"),
    "description": "The whole snippet that inserts the value into exported content.",
    "examples": ["%%=v(@firstName)=%%"],
}
_VALUE_EXPRESSION: Schema = {
    **_verbatim("custom_value_expression"),
    "description": "The expression that segment and condition logic evaluates.",
    "examples": ["@firstName"],
}
_ANY_VALUES: Schema = {
    "type": ["array", "null"],
    "minItems": 1,
    "maxItems": _DESCRIBED["allowed_values"].max_items,
    "uniqueItems": True,
    "items": {"type": ["string", "number"]},
    "description": (
        "The values a recipient may have, in this order. null allows any value. All are of the "
        "field's data type, and each is listed once."
    ),
}
_TAGS_PATTERN = r'(?:W/)?"[\x21\x23-\x7e\x80-\xff]*"'
_PRECONDITION: Schema = {
    "type": "string",
    "pattern": rf"^(?:\*|[ \t,]*{_TAGS_PATTERN}(?:[ \t]*,[ \t,]*{_TAGS_PATTERN})*[ \t,]*)$",
}
_NUMBER: Schema = {"type": "number", "minimum": -MAX_SAFE_INTEGER, "maximum": MAX_SAFE_INTEGER}
_LINE: Schema = {
    "type": "string",
    "minLength": 1,
    "maxLength": MAX_LINE_LENGTH,
    "pattern": LINE_PATTERN,
    "description": "One line of text without leading or trailing white space.",
}
_DATE: Schema = {"type": "string", "format": "date", "pattern": _DATE_PATTERN}
_RFC_3339: Schema = {"type": "string", "format": "date-time", "pattern": RFC_3339_PATTERN}


def _values_by_type(instant: Schema) -> list[Schema]:
    """Return what each data type permits in `allowed_values`."""
    items = {"text": ref("Line"), "number": _NUMBER, "date": _DATE, "datetime": instant}
    permitted: dict[str, Schema] = {name: {"items": schema} for name, schema in items.items()}
    permitted["boolean"] = {"type": "null"}
    return [
        {
            "if": {"properties": {"data_type": {"const": data_type.value}}},
            "then": {"properties": {"allowed_values": permitted[data_type.value]}},
        }
        for data_type in DataType
    ]


_DATA_TYPE: Schema = {
    "type": "string",
    "enum": [data_type.value for data_type in DataType],
    "description": "The type of the values. It never changes.",
}
_KEY: Schema = {
    "type": "string",
    "minLength": 1,
    "maxLength": _DESCRIBED["key"].max_length,
    "pattern": KEY_PATTERN,
    "description": "The name of the field for programs. It never changes.",
    "examples": ["loyalty_tier"],
}
_NEW_KEY: Schema = {
    **_KEY,
    "not": {"anyOf": [{"enum": sorted(RESERVED_KEYS)}, {"pattern": f"^{RESERVED_PREFIX}"}]},
    "description": (
        "The name of the field for programs. It is unique in the organization, across origins, and "
        "never changes. If a create omits it, the service derives it from the name: `Größe (cm)` "
        "becomes `grosse_cm`. A key is required if the name has no letters or digits, or has some "
        "without a form in a-z and 0-9 (`日本`, `Størrelse`)."
    ),
}
_NAME: Schema = {
    "type": "string",
    "pattern": _NAME_PATTERN,
    "description": (
        "The name of the field for people. It is stored in Unicode NFC, without leading or "
        f"trailing white space, and has 1 to {MAX_LINE_LENGTH} characters on one line in that "
        "form. It need not be unique."
    ),
    "examples": ["Loyalty tier"],
}
_SOURCE: Schema = {
    "type": "string",
    "enum": [source.value for source in Source],
    "description": "The origin of the field. Only `api` fields can be changed through the API.",
}
_ID: Schema = {"type": "integer", "minimum": 1, "maximum": MAX_SAFE_INTEGER}
_ESP_FIELD_NAME: Schema = {
    "type": ["string", "null"],
    "minLength": 1,
    "maxLength": _DESCRIBED["esp_field_name"].max_length,
    "description": "The ESP's name of the field. null for other sources.",
}
_MEMBERS: Schema = {
    "id": {**_ID, "description": "Assigned by the service, never used again."},
    "name": ref("Line", "What people call the field. Not unique."),
    "key": ref("Key"),
    "data_type": ref("DataType"),
    "allowed_values": ref("AllowedValues"),
    # No `default`: openapi-typescript would require the member in requests.
    "insertable": {
        "type": "boolean",
        "description": "Whether the field can be inserted into content. The default is `true`.",
    },
    "source": ref("Source"),
    "integration_id": {
        **_nullable(_ID),
        "description": "The integration that syncs the field. null for other sources.",
    },
    "esp_field_name": _ESP_FIELD_NAME,
    "custom_insertion_code": ref("InsertionCode"),
    "custom_value_expression": ref("ValueExpression"),
    "created_at": ref("Timestamp"),
    "updated_at": ref("Timestamp", "Moves only when something changed, and forward."),
}
_WRITABLE: Schema = {
    **{name: _MEMBERS[name] for name in WRITABLE_MEMBERS},
    "name": ref("NewName"),
}
_ACTOR: Schema = {
    "type": "object",
    "description": "The author of the change.",
    "properties": {
        "channel": ref("Source", "How the change was made."),
        "id": {
            "type": ["integer", "string", "null"],
            "description": "The id of the API key, the administrator or the integration.",
        },
        "name": {
            "type": ["string", "null"],
            "description": (
                "The displayed form of the API key, the administrator's email address, or the name "
                "of the integration. Never a key."
            ),
        },
    },
    "required": ["channel", "id", "name"],
}


def _state(when: str) -> Schema:
    """Return the schema of a field in a record of the history."""
    return {"oneOf": [ref("RecipientField"), {"type": "null"}], "description": when}


_RECORD: Schema = {
    "sequence": {
        **_ID,
        "description": "The number of the record: 1 for the first of the organization, no gaps.",
    },
    "occurred_at": ref("Timestamp", "Later for each transaction; the same for all its records."),
    "operation": ref("RecordedOperation"),
    "actor": ref("Actor"),
    "request_id": {
        "type": ["string", "null"],
        "description": "The `X-Request-Id` of the request that made the change.",
    },
    "field_id": _ID,
    "key": ref("Key"),
    "before": _state("The field before the change. null if it was created or restored."),
    "after": _state("The field after the change. null if it was deleted."),
}
_SYNCED: Schema = {
    "if": {"properties": {"source": {"const": Source.INTEGRATION.value}}},
    "then": {
        "properties": {"integration_id": {"type": "integer"}, "esp_field_name": {"type": "string"}}
    },
    "else": {
        "properties": {"integration_id": {"type": "null"}, "esp_field_name": {"type": "null"}}
    },
}
_READ_ONLY: Schema = {name: {**_MEMBERS[name], "readOnly": True} for name in READ_ONLY_MEMBERS}
_READ_ONLY_RULE = (
    "Read-only members are accepted if they equal the stored values, so a field that was read can "
    "be sent back."
)


def _envelope(member: str, schema: Schema, **more: Any) -> Schema:
    return {"type": "object", "properties": {member: schema}, "required": [member], **more}


def _closed_envelope(name: str) -> Schema:
    return _envelope("recipient_field", ref(name), additionalProperties=False)


_ENTITY_TAG: Schema = {
    "type": ["string", "null"],
    # Any text but `*`, with or without quotes.
    "pattern": (r'^(?:"[\x21\x23-\x7e]+"|[\x21\x23-\x29\x2b-\x7e]|[\x21\x23-\x7e]{2,})$'),
}
_REFERENCE: Schema = {
    "oneOf": [_ID, ref("NewKey")],
    "description": "The id of the field, or its key.",
    "examples": ["loyalty_tier"],
}


def _batch_operation(name: str, description: str, **members: Schema) -> Schema:
    properties = {"operation": {"type": "string", "const": name}, **members}
    required = list(properties)
    if "reference" in members:
        properties["if_match"] = ref(
            "EntityTag", "The `ETag` that the field must have. Otherwise the operation fails."
        )
    return {
        "type": "object",
        "description": description,
        "properties": properties,
        "required": required,
        "additionalProperties": False,
    }


_BATCH_OPERATIONS: Mapping[str, Schema] = {
    "CreateOperation": _batch_operation(
        "create", "Creates a field.", recipient_field=ref("RecipientFieldDraft")
    ),
    "UpdateOperation": _batch_operation(
        "update",
        "Changes some members of a field.",
        reference=ref("FieldReference"),
        recipient_field=ref("RecipientFieldChanges"),
    ),
    "ReplaceOperation": _batch_operation(
        "replace",
        "Replaces all writable members of a field, or creates the field if its key is free.",
        reference=ref("FieldReference"),
        recipient_field=ref("RecipientFieldReplacement"),
    ),
    "DeleteOperation": _batch_operation(
        "delete", "Deletes a field.", reference=ref("FieldReference")
    ),
}
_BATCH: Schema = {
    "type": "object",
    "description": "Operations that take effect together, or not at all.",
    "properties": {
        "operations": {
            "type": "array",
            "minItems": 1,
            "maxItems": MAX_BATCH_OPERATIONS,
            "items": ref("BatchOperation"),
            "description": "Each operation sees the effects of those before it.",
        },
        "if_revision": ref(
            "EntityTag", "The `ETag` that the list must have. Otherwise the response is 412."
        ),
    },
    "required": ["operations"],
    "additionalProperties": False,
}
_BATCH_RESULT: Schema = _envelope(
    "recipient_field",
    {
        "oneOf": [ref("RecipientField"), {"type": "null"}],
        "description": "The field after the batch, or null if it does not exist then.",
    },
)


_FAILURES = (
    *("not_found", "forbidden", "field_limit_reached", "catalog_too_large"),
    "precondition_failed",
)
"""The codes of details that describe a failed operation of a batch as a whole."""
_DETAIL: Schema = {
    "type": "object",
    "description": "A violation of one rule, or an operation of a batch that failed.",
    "properties": {
        "pointer": {
            "type": "string",
            "pattern": "^(?:/(?:[^~/]|~[01])*)*$",
            "description": 'The place in the body (RFC 6901). `""` is the whole body.',
        },
        "code": {
            "type": "string",
            "enum": [*(rule.value for rule in Rule), "key_already_exists", *_FAILURES],
        },
        "message": {"type": "string", "minLength": 1},
        "line": {**_ID, "description": "The line, if the violation is in a text. From 1."},
        "column": {**_ID, "description": "The column, in characters. From 1."},
        "suggestion": {"type": "string", "description": "A value that is probably meant."},
        "existing_id": {**_ID, "description": "The id of the field that has this key."},
        "existing_key": ref("Key", "This key."),
        "limit": ref("ErrorLimit"),
        "used": ref("ErrorUsed"),
    },
    "required": ["pointer", "code", "message"],
}
_ERROR_PARTS: Schema = {
    "ErrorCode": {
        "type": "string",
        "enum": list(STATUSES),
        "description": "The cause, for programs. docs/errors.md#CODE describes each code.",
    },
    "ErrorRequestId": {
        "type": "string",
        "pattern": "^[A-Za-z0-9._-]{1,64}$",
        "description": "The id in `X-Request-Id` and in the service's log.",
    },
    "ErrorReason": {
        "type": "string",
        "enum": ["field_not_api_managed", "insufficient_scope", "before_history"],
        "description": "Why the request is forbidden, or the resource is not found.",
    },
    "ErrorLimit": {
        "type": "integer",
        "minimum": 1,
        "description": "The limit of the list of all fields, in bytes.",
    },
    "ErrorUsed": {
        "type": "integer",
        "minimum": 0,
        "description": "The size of the list of all fields before the request, in bytes.",
    },
    "ErrorDetails": {
        "type": "array",
        "minItems": 1,
        "maxItems": MAX_VIOLATIONS,
        "items": ref("ErrorDetail"),
        "description": f"All violations, up to {MAX_VIOLATIONS:,}.",
    },
    "ErrorDetail": _DETAIL,
}
"""The members that the error object and the problem document have in common."""
_ERROR_MEMBERS: Schema = {
    "code": ref("ErrorCode"),
    "request_id": ref("ErrorRequestId"),
    "reason": ref("ErrorReason"),
    "limit": ref("ErrorLimit"),
    "used": ref("ErrorUsed"),
    "details": ref("ErrorDetails"),
}
_ERROR: Schema = _envelope(
    "error",
    {
        "type": "object",
        "properties": {
            **_ERROR_MEMBERS,
            "message": {"type": "string", "minLength": 1, "description": "The cause, for people."},
        },
        "required": ["code", "message", "request_id"],
    },
    description="The error object.",
)
_PROBLEM: Schema = {
    "type": "object",
    "description": "An error in the form of RFC 9457, if `Accept` has `application/problem+json`.",
    "properties": {
        "type": {
            "type": "string",
            "minLength": 1,
            "description": "`urn:recipient-fields:problem:` and the code.",
        },
        "title": {"type": "string", "minLength": 1},
        "status": {"type": "integer", "minimum": 400, "maximum": 599},
        "detail": {"type": "string", "minLength": 1},
        **_ERROR_MEMBERS,
    },
    "required": ["type", "title", "status", "detail", "code", "request_id"],
}

_NO_MORE: Schema = {"additionalProperties": False}
_TREES: Schema = {"type": "array", "minItems": 2, "items": ref("ConditionTree")}
_CONDITIONS: Schema = {
    "ConditionTree": {
        "oneOf": [
            ref("AllConditions"),
            ref("AnyCondition"),
            ref("NegatedCondition"),
            ref("Comparison"),
        ],
        "description": "A condition as JSON. docs/conditions.md describes it.",
    },
    "AllConditions": _envelope("all", _TREES, **_NO_MORE),
    "AnyCondition": _envelope("any", _TREES, **_NO_MORE),
    "NegatedCondition": _envelope("not", ref("ConditionTree"), **_NO_MORE),
    "Comparison": {
        "type": "object",
        "properties": {
            "field": ref("Key"),
            "op": {"type": "string", "enum": [operator.value for operator in Operator]},
            "value": {
                "description": (
                    'A text, a number, a boolean or `{"date": "2026-11-20"}`; for `in`, an array '
                    "of these. `is_set`, `is_not_set` and `is_true` have no value."
                )
            },
        },
        "required": ["field", "op"],
        **_NO_MORE,
    },
}
_TARGET: Schema = {
    "esp": ref("Esp", "The ESP that the code is for. Send this member or `integration_id`."),
    "integration_id": {
        **_ID,
        "description": (
            "The integration that the code is for. Required if the organization has several with "
            "the ESP."
        ),
    },
}
_ESP_CODE: Schema = {
    "Esp": {"type": "string", "enum": [esp.value for esp in Esp]},
    **_CONDITIONS,
    "ConditionCompilation": {
        "type": "object",
        "properties": {
            "condition": {
                "oneOf": [{"type": "string", "minLength": 1}, ref("ConditionTree")],
                "description": "The condition, as text or as JSON.",
            },
            **_TARGET,
            "then": {
                "type": "string",
                "description": "The text for recipients who satisfy the condition.",
            },
            "else": {
                "type": "string",
                "description": "The text for all others. By default, it is empty.",
            },
        },
        "required": ["condition", "then"],
        **_NO_MORE,
    },
    "CompiledCondition": {
        "type": "object",
        "properties": {
            "esp": ref("Esp"),
            "code": {"type": "string", "description": "The code that selects one of both texts."},
            "prelude": {
                "type": ["string", "null"],
                "description": "Code that the content needs before the first use of `code`.",
            },
            "caveats": {
                "type": "array",
                "items": {"type": "string"},
                "description": "Known cases in which the ESP can read the code differently.",
            },
        },
        "required": ["esp", "code", "prelude", "caveats"],
    },
    "ContentExport": {
        "type": "object",
        "properties": {
            "content": {
                "type": "string",
                "maxLength": MAX_CONTENT_LENGTH,
                "description": "Content with references and conditions: docs/content.md.",
            },
            **_TARGET,
            "strict": {
                "type": "boolean",
                "description": "Whether warnings are violations. The default is `false`.",
            },
        },
        "required": ["content"],
        **_NO_MORE,
    },
    "ContentWarning": {
        "type": "object",
        "description": "A place in the content that its writer should check.",
        "properties": {"line": _ID, "column": _ID, "message": {"type": "string"}},
        "required": ["line", "column", "message"],
    },
    "ExportedContent": {
        "type": "object",
        "properties": {
            "content": {"type": "string", "description": "The content with the code of the ESP."},
            "warnings": {"type": "array", "items": ref("ContentWarning")},
            "fields": {
                "type": "array",
                "items": ref("Key"),
                "description": "The keys of the fields in it, in the order of their first use.",
            },
        },
        "required": ["content", "warnings", "fields"],
    },
}
_RECIPIENT: Schema = {
    "type": "object",
    "additionalProperties": True,
    "description": "The values of a recipient, by the keys of the fields.",
}
_RECIPIENTS: Schema = {
    "Recipient": _RECIPIENT,
    "RecipientList": _envelope(
        "recipients",
        {
            "type": "array",
            "minItems": 1,
            "maxItems": MAX_CHECKED_RECIPIENTS,
            "items": ref("Recipient"),
        },
        **_NO_MORE,
    ),
    "RecipientCheck": {
        "type": "object",
        "description": (
            "The recipient with converted values if it is valid. Otherwise, violations. After"
            " 10,000 violations, a response has only the first one of each recipient."
        ),
        "properties": {
            "valid": {"type": "boolean"},
            "recipient": ref("Recipient"),
            "violations": {"type": "array", "minItems": 1, "items": ref("ErrorDetail")},
        },
        "required": ["valid"],
    },
    "RecipientCheckList": _envelope("results", {"type": "array", "items": ref("RecipientCheck")}),
}

SCHEMAS: Schema = {
    "DataType": _DATA_TYPE,
    "Source": _SOURCE,
    "Key": _KEY,
    "NewKey": _NEW_KEY,
    "Line": _LINE,
    "NewName": _NAME,
    "AllowedValues": _ANY_VALUES,
    "InsertionCode": _INSERTION_CODE,
    "ValueExpression": _VALUE_EXPRESSION,
    "Timestamp": _INSTANT,
    "Rfc3339Timestamp": _RFC_3339,
    "Precondition": _PRECONDITION,
    "RecipientField": {
        "type": "object",
        "description": "A recipient field with all its members. Tolerate additional ones.",
        "properties": _MEMBERS,
        "required": list(_MEMBERS),
        "allOf": [*_values_by_type(ref("Timestamp")), _SYNCED],
    },
    "RecipientFieldEnvelope": _envelope("recipient_field", ref("RecipientField")),
    "RecipientFieldList": _envelope(
        "recipient_fields", {"type": "array", "items": ref("RecipientField")}
    ),
    "RecordedOperation": {
        "type": "string",
        "enum": [operation.value for operation in RecordedOperation],
        "description": "What the change did to the field.",
    },
    "Actor": _ACTOR,
    "HistoryRecord": {
        "type": "object",
        "description": "A change of a field. Tolerate additional members.",
        "properties": _RECORD,
        "required": list(_RECORD),
    },
    "HistoryRecordList": _envelope(
        "recipient_field_changes", {"type": "array", "items": ref("HistoryRecord")}
    ),
    "RecipientFieldDraft": {
        "type": "object",
        "description": "A new field.",
        "properties": {
            **_WRITABLE,
            "key": ref("NewKey"),
            "data_type": ref("DataType"),
            "source": {"type": "string", "const": Source.API.value, "readOnly": True},
            "integration_id": {"type": "null", "readOnly": True},
            "esp_field_name": {"type": "null", "readOnly": True},
        },
        "required": ["name", "data_type"],
        "additionalProperties": False,
        "allOf": _values_by_type(ref("Rfc3339Timestamp")),
    },
    "RecipientFieldChanges": {
        "type": "object",
        "description": f"The members to change. Omitted members stay the same. {_READ_ONLY_RULE}",
        "properties": {
            **_WRITABLE,
            **_READ_ONLY,
            "key": {**ref("Key"), "readOnly": True},
            "data_type": {**ref("DataType"), "readOnly": True},
        },
        "additionalProperties": False,
    },
    "RecipientFieldReplacement": {
        "type": "object",
        "description": (
            "The new state of the field. Omitted members get their defaults. `data_type` must be "
            f"the stored one, and `key` the one in the path. {_READ_ONLY_RULE}"
        ),
        "properties": {
            **_WRITABLE,
            **_READ_ONLY,
            "key": {**ref("NewKey", "The key in the path, or omitted."), "readOnly": True},
            "data_type": ref("DataType"),
        },
        "required": ["name", "data_type"],
        "additionalProperties": False,
        "allOf": _values_by_type(ref("Rfc3339Timestamp")),
    },
    "RecipientFieldDraftEnvelope": _closed_envelope("RecipientFieldDraft"),
    "RecipientFieldChangesEnvelope": _closed_envelope("RecipientFieldChanges"),
    "RecipientFieldReplacementEnvelope": _closed_envelope("RecipientFieldReplacement"),
    "EntityTag": _ENTITY_TAG,
    "FieldReference": _REFERENCE,
    **_BATCH_OPERATIONS,
    "BatchOperation": {
        "oneOf": [ref(name) for name in _BATCH_OPERATIONS],
        "discriminator": {
            "propertyName": "operation",
            "mapping": {
                schema["properties"]["operation"]["const"]: ref(name)["$ref"]
                for name, schema in _BATCH_OPERATIONS.items()
            },
        },
    },
    "RecipientFieldBatch": _BATCH,
    "BatchResult": _BATCH_RESULT,
    "BatchResultList": _envelope("results", {"type": "array", "items": ref("BatchResult")}),
    **_ESP_CODE,
    **_RECIPIENTS,
    "Health": {
        "type": "object",
        "properties": {"status": {"type": "string", "enum": ["ok", "ready"]}},
        "required": ["status"],
    },
    "Error": _ERROR,
    **_ERROR_PARTS,
    "Problem": _PROBLEM,
}
"""The schemas by name."""
