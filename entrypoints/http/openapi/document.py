"""The OpenAPI 3.1 document, with the schemas of `schemas` and the errors of `responses`."""

from __future__ import annotations

from importlib.metadata import version
from typing import Any

from recipient_fields.domain import (
    FIELD_MEMBERS,
    MAX_KEY_LENGTH,
    MAX_SAFE_INTEGER,
    RecordedOperation,
    SortKey,
    Source,
)
from recipient_fields.domain.esp import Esp

from ..list_parameters import MAX_TEXT_LENGTH
from ..media_types import JSON, JSON_SCHEMA, MERGE_PATCH
from ..parameters import MAX_PAGE_SIZE
from .responses import (
    HEADERS,
    REQUEST_ID,
    RESPONSES,
    Responses,
    error_responses,
    json_content,
    response,
)
from .schemas import ID_PATTERN, KEY_PATTERN, RFC_3339_PATTERN, SCHEMAS, Schema, ref

FIELDS = "/api/v1/recipient_fields"
FIELD = f"{FIELDS}/{{id_or_key}}"
BATCHES = "/api/v1/recipient_field_batches"
HISTORY = "/api/v1/recipient_field_changes"
RECIPIENT_SCHEMA = "/api/v1/recipient_schema"
RECIPIENT_CHECKS = "/api/v1/recipient_checks"
CONDITIONS = "/api/v1/condition_compilations"
CONTENT = "/api/v1/content_exports"

_DESCRIPTION = """\
Recipient fields are named attributes that email teams personalize content with. This API lists
and reads all fields of an organization, and creates, updates and deletes those that are managed
through it (`source` is `api`).

Every request under `/api/` requires an organization API key: `Authorization: Bearer <API_KEY>`.
Keys are for servers: there is no CORS. Every error is an error object with a `code` for programs
and a `message` for people. If the client accepts `application/problem+json`, the body is a
problem document (RFC 9457) instead: see the schema `Problem`.

Within `/api/v1`, changes only add members, parameters and enum values. Clients must tolerate them.
The service rejects unknown query parameters.
"""


def document(mount_path: str = "") -> dict[str, Any]:
    """Return the OpenAPI document of the service that is mounted at this path.

    It omits `HEAD` and `OPTIONS`, which every path supports, and the files that `/docs` loads: a
    generated client would have a method for each of them.
    """
    return {
        "openapi": "3.1.1",
        "info": {
            "title": "Recipient Fields",
            "version": version("recipient-fields"),
            "summary": "Definitions of the recipient fields that email teams personalize with.",
            "description": _DESCRIPTION,
            "license": {"name": "MIT", "identifier": "MIT"},
        },
        "servers": [{"url": mount_path or "/"}],
        "security": [{"api_key": []}],
        "tags": [{"name": name, "description": text} for name, text in _TAGS.items()],
        "paths": {
            FIELDS: {
                "parameters": [_parameter("RequestId")],
                "get": _LIST,
                "post": _CREATE,
            },
            FIELD: {
                "parameters": [_ID_OR_KEY, _parameter("RequestId")],
                "get": _GET,
                "patch": _UPDATE,
                "put": _REPLACE,
                "delete": _DELETE,
            },
            f"{FIELD}/changes": {
                "parameters": [_ID_OR_KEY, _parameter("RequestId")],
                "get": _FIELD_HISTORY,
            },
            f"{FIELDS}/{{id}}/restore": {
                "parameters": [_FIELD_ID, _parameter("RequestId")],
                "post": _RESTORE,
            },
            BATCHES: {"parameters": [_parameter("RequestId")], "post": _APPLY},
            HISTORY: {"parameters": [_parameter("RequestId")], "get": _HISTORY},
            RECIPIENT_SCHEMA: {"parameters": [_parameter("RequestId")], "get": _RECIPIENT_SCHEMA},
            RECIPIENT_CHECKS: {"parameters": [_parameter("RequestId")], "post": _RECIPIENT_CHECKS},
            CONDITIONS: {"parameters": [_parameter("RequestId")], "post": _COMPILE},
            CONTENT: {"parameters": [_parameter("RequestId")], "post": _EXPORT},
            "/openapi.json": _open_path(_DOCUMENT),
            "/docs": _open_path(_PAGE),
            "/healthz": _open_path(_LIVENESS),
            "/readyz": _open_path(_READINESS),
        },
        "components": {
            "schemas": SCHEMAS,
            "parameters": _PARAMETERS,
            "headers": HEADERS,
            "responses": RESPONSES,
            "links": _LINKS,
            "securitySchemes": {
                "api_key": {
                    "type": "http",
                    "scheme": "bearer",
                    "description": "An organization API key: `rfk_` and 38 letters and digits.",
                }
            },
        },
    }


_FIELDS_TAG = "Recipient fields"
_HISTORY_TAG = "History"
_RECIPIENTS_TAG = "Recipients"
_CODE_TAG = "ESP code"
_SERVICE_TAG = "Service"
_TAGS = {
    _FIELDS_TAG: "The fields of the organization that the API key belongs to.",
    _HISTORY_TAG: "The changes of these fields.",
    _RECIPIENTS_TAG: "The data of recipients, which the service checks and does not store.",
    _CODE_TAG: "Conditions and content as code for an ESP. The service stores nothing.",
    _SERVICE_TAG: "Health and documentation. No API key.",
}

_ERRORS_OF_ALL = (400, 406, 408, 413, 414, 431, 500, 501, 503)
_ERRORS_WITH_KEYS = (*_ERRORS_OF_ALL, 401)


def _operation(
    summary: str, tag: str, responses: Responses, *errors: int, **more: Any
) -> dict[str, Any]:
    return {
        "summary": summary,
        "tags": [tag],
        **more,
        "responses": {**responses, **error_responses(errors)},
    }


def _field_operation(
    summary: str, responses: Responses, *errors: int, tag: str = _FIELDS_TAG, **more: Any
) -> dict[str, Any]:
    return _operation(summary, tag, responses, *_ERRORS_WITH_KEYS, *errors, **more)


def _open_operation(summary: str, responses: Responses, **more: Any) -> dict[str, Any]:
    everywhere = {"security": [], **more}
    return _operation(summary, _SERVICE_TAG, responses, *_ERRORS_OF_ALL, **everywhere)


def _open_path(get: dict[str, Any]) -> dict[str, Any]:
    return {"parameters": [_parameter("RequestId")], "get": get}


def _parameter(name: str) -> Schema:
    """Return a reference to the parameter of that name among the components."""
    return {"$ref": f"#/components/parameters/{name}"}


def _query(name: str, description: str, schema: Schema) -> Schema:
    return {"name": name, "in": "query", "description": description, "schema": schema}


def _alternatives(name: str, description: str, one: Schema) -> Schema:
    values = {"type": "array", "minItems": 1, "items": one}
    description = f"{description} Separate several values by commas, or repeat the parameter."
    return _query(name, description, values)


_PARAMETERS: Schema = {
    "Prefer": {
        "name": "Prefer",
        "in": "header",
        "description": (
            "`return=minimal` leaves the fields out of the response (RFC 7240). Other preferences "
            "have no effect."
        ),
        "schema": {"type": "string"},
        "example": "return=minimal",
    },
    "RequestId": {
        "name": "X-Request-Id",
        "in": "header",
        "description": (
            "The id of the request. The response has the same id if it matches "
            "`[A-Za-z0-9._-]{1,64}`. Otherwise, the service generates one."
        ),
        "schema": {"type": "string"},
    },
    "IfMatch": {
        "name": "If-Match",
        "in": "header",
        "description": "The `ETag` that the field must have. Otherwise the response is 412.",
        "schema": ref("Precondition"),
    },
    "UnlessMatch": {
        "name": "If-None-Match",
        "in": "header",
        "description": (
            "The response is 412 if the field has this `ETag` or, with `*`, if the field exists."
        ),
        "schema": ref("Precondition"),
    },
    "IfNoneMatch": {
        "name": "If-None-Match",
        "in": "header",
        "description": "The `ETag` of the client's version. The response is 304 if it is current.",
        "schema": ref("Precondition"),
    },
}
_ID_OR_KEY: Schema = {
    "name": "id_or_key",
    "in": "path",
    "required": True,
    "description": "Digits are an id. Anything else is a key.",
    "schema": {
        "type": "string",
        "maxLength": MAX_KEY_LENGTH,
        "pattern": f"^(?:{ID_PATTERN[1:-1]}|{KEY_PATTERN[1:-1]})$",
    },
    "examples": {"id": {"value": "1"}, "key": {"value": "loyalty_tier"}},
}
_FIELD_ID: Schema = {
    "name": "id",
    "in": "path",
    "required": True,
    "description": "The id of the deleted field.",
    "schema": {"type": "integer", "minimum": 1, "maximum": 10**16 - 1},
    "example": 1,
}
_LIMIT_SCHEMA: Schema = {"type": "integer", "minimum": 1, "maximum": MAX_PAGE_SIZE}
_LIST_PARAMETERS = [
    _alternatives("source", "Only fields of this source.", ref("Source")),
    _alternatives("data_type", "Only fields of this data type.", ref("DataType")),
    _alternatives("key", "Only the field with this key.", ref("NewKey")),
    _alternatives(
        "integration_id",
        "Only fields that this integration syncs.",
        {"type": "integer", "minimum": 1, "maximum": 10**16 - 1},
    ),
    _query(
        "insertable",
        "Only fields that can (`true`) or can't (`false`) be inserted into content.",
        {"type": "boolean"},
    ),
    _query(
        "q",
        "Only fields whose name, key or ESP field name contains this text, in any case.",
        {"type": "string", "minLength": 1, "maxLength": MAX_TEXT_LENGTH, "pattern": r"^[^\x00]*$"},
    ),
    _query(
        "sort",
        "The order. The default is `id`; equal values are ordered by ascending id. A `-` before "
        "the name reverses the order. Texts are compared by code points.",
        {"type": "string", "enum": [sign + key.value for key in SortKey for sign in ("", "-")]},
    ),
    _query(
        "limit",
        "The number of fields per page. The default is all.",
        _LIMIT_SCHEMA,
    ),
    _query(
        "as_of",
        "The list as it was at this time, after all changes until then. The default is the current "
        "list. Times before the first record of the history are 404 `before_history`.",
        # No `format`: a generated Python client would send six decimals.
        {"type": "string", "pattern": RFC_3339_PATTERN},
    ),
    _query(
        "cursor",
        "The start of a page. Use the URLs in `Link`, which contain it. Its format is private.",
        {"type": "string", "pattern": "^[A-Za-z0-9_-]+$"},
    ),
]


_FIELD_HISTORY_PARAMETERS = [
    _alternatives("source", "Only changes of fields of this source.", ref("Source")),
    _alternatives("operation", "Only these operations.", ref("RecordedOperation")),
    _query(
        "after",
        "Only records with a greater sequence number. If such records were removed, the response "
        "is 404 `before_history`. The default is all that are left.",
        {"type": "integer", "minimum": 0, "maximum": MAX_SAFE_INTEGER},
    ),
    _query("limit", "The number of records per page. The default is 100.", _LIMIT_SCHEMA),
    _parameter("IfNoneMatch"),
]
_HISTORY_PARAMETERS = [
    _alternatives("key", "Only changes of fields with this key.", ref("NewKey")),
    *_FIELD_HISTORY_PARAMETERS,
]


def _body(schema: str, *more_media_types: str, **examples: object) -> Schema:
    """Return a request body with one field."""
    shown = {name: {"recipient_field": members} for name, members in examples.items()}
    more = {media_type: {"schema": ref(schema)} for media_type in more_media_types}
    return {"required": True, "content": {**json_content(schema, **shown), **more}}


def _response_example(**members: object) -> Schema:
    """Return a field as in a response, with these members and typical other ones."""
    field: dict[str, object] = {
        **{each.name: each.default for each in FIELD_MEMBERS},
        "id": 4,
        "data_type": "text",
        "source": Source.API.value,
        "created_at": "2026-11-20T09:15:00.123Z",
        "updated_at": "2026-11-20T09:15:00.123Z",
    }
    return {"recipient_field": {**field, **members}}


_SHOE_SIZE = {"name": "Shoe size", "data_type": "number", "allowed_values": [38, 39.5, 41]}
_BIRTHDAY = {
    "name": "Birthday",
    "key": "date_of_birth",
    "data_type": "date",
    "insertable": False,
    "custom_insertion_code": "%%=v(@birthday)=%%",
    "custom_value_expression": "@birthday",
}
_TIERS = {"name": "Loyalty level", "allowed_values": ["platinum", "gold", "silver"]}
_NO_TIERS = {"allowed_values": None}
_NEWSLETTER = {"name": "Newsletter", "data_type": "boolean"}
_TIER_RESPONSE = _response_example(
    id=1, name="Loyalty tier", key="loyalty_tier", allowed_values=["gold", "silver", "bronze"]
)
_LIST_RESPONSE = {
    "recipient_fields": [
        example["recipient_field"]
        for example in (
            _TIER_RESPONSE,
            _response_example(
                id=2, name="Preferred shop", key="preferred_shop", source=Source.MANUAL.value
            ),
            _response_example(
                id=3,
                name="First name",
                key="first_name",
                source=Source.INTEGRATION.value,
                integration_id=1,
                esp_field_name="FNAME",
            ),
        )
    ]
}


_RENAMED_RESPONSE = _response_example(
    id=1, key="loyalty_tier", name="Loyalty level", allowed_values=["platinum", "gold", "silver"]
)
_HISTORY_RESPONSE = {
    "recipient_field_changes": [
        {
            "sequence": 4,
            "occurred_at": "2026-11-20T09:15:00.126Z",
            "operation": RecordedOperation.UPDATED.value,
            "actor": {"channel": Source.API.value, "id": 1, "name": "rfk_0123…AuoE"},
            "request_id": REQUEST_ID,
            "field_id": 1,
            "key": "loyalty_tier",
            "before": _TIER_RESPONSE["recipient_field"],
            "after": {
                **_RENAMED_RESPONSE["recipient_field"],
                "updated_at": "2026-11-20T09:15:00.124Z",
            },
        }
    ]
}


def _links(source: str) -> dict[str, Schema]:
    """Return the operations on the field at this pointer of a response, by id and by key."""
    operations = ("get", "update", "replace", "delete")
    return {
        f"{operation}_by_{part}": {
            "operationId": f"{operation}_recipient_field",
            "parameters": {"id_or_key": f"$response.body#{source}/{part}"},
        }
        for operation in operations
        for part in ("id", "key")
    }


_LINKS = _links("/recipient_field")


def _one_field(description: str, *headers: str, **examples: object) -> Schema:
    return response(
        description,
        "ETag",
        "Vary",
        *headers,
        content=json_content("RecipientFieldEnvelope", **examples),
        links={name: {"$ref": f"#/components/links/{name}"} for name in _LINKS},
    )


_NOT_MODIFIED = response("The client's version is current.", "ETag", "Vary")

_LIST = _field_operation(
    "List the fields",
    {
        "200": response(
            "The fields, ordered by id by default.",
            "ETag",
            "Vary",
            "Total-Count",
            "Link",
            content=json_content("RecipientFieldList", every_origin=_LIST_RESPONSE),
            links=_links("/recipient_fields/0"),
        ),
        "304": response("The client's version is current.", "ETag", "Vary", "Total-Count", "Link"),
    },
    *(404,),
    description=(
        "All fields of the organization, of any origin, or those that match the parameters. "
        "`Link` contains the next page. With `as_of`, the list as it was."
    ),
    operationId="list_recipient_fields",
    parameters=[*_LIST_PARAMETERS, _parameter("IfNoneMatch")],
)
_CREATE = _field_operation(
    "Create a field",
    {
        "201": _one_field(
            "The new field.",
            "Location",
            shoe_size=_response_example(**_SHOE_SIZE, key="shoe_size"),
            date_of_birth=_response_example(**_BIRTHDAY),
        )
    },
    *(403, 409, 415, 422),
    operationId="create_recipient_field",
    description=(
        "Without a `key`, the service derives one from the name. It adds no suffix: if the key is "
        "taken, the response is 409, so a repeated request creates no second field."
    ),
    requestBody=_body("RecipientFieldDraftEnvelope", shoe_size=_SHOE_SIZE, date_of_birth=_BIRTHDAY),
)
_GET = _field_operation(
    "Read a field",
    {
        "200": _one_field("The field.", tier=_TIER_RESPONSE),
        "304": _NOT_MODIFIED,
    },
    *(404,),
    operationId="get_recipient_field",
    parameters=[_parameter("IfNoneMatch")],
)
_UPDATE = _field_operation(
    "Change a field",
    {
        "200": _one_field(
            "The changed field.",
            rename=_response_example(id=1, key="loyalty_tier", **_TIERS),
            any_value=_response_example(id=1, name="Loyalty tier", key="loyalty_tier"),
        )
    },
    *(403, 404, 412, 415, 422),
    operationId="update_recipient_field",
    description=(
        "Members that the body omits stay the same. null clears a nullable member (JSON merge "
        "patch, inside `recipient_field`). If nothing changes, the version stays the same, too."
    ),
    parameters=[_parameter("IfMatch"), _parameter("UnlessMatch")],
    requestBody=_body(
        "RecipientFieldChangesEnvelope", MERGE_PATCH, rename=_TIERS, any_value=_NO_TIERS
    ),
)
_REPLACE = _field_operation(
    "Replace a field, or create it by key",
    {
        "200": _one_field("The replaced field."),
        "201": _one_field(
            "The new field: no field had this key.",
            "Location",
            newsletter=_response_example(**_NEWSLETTER, key="newsletter"),
        ),
    },
    *(403, 404, 409, 412, 415, 422),
    operationId="replace_recipient_field",
    description=(
        "All writable members are replaced. Members that the body omits get their defaults. If no "
        "field has the key, the field is created, so the request can be repeated safely. "
        "With `If-None-Match: *`, it only creates. For an unknown id, the response is 404."
    ),
    parameters=[_parameter("IfMatch"), _parameter("UnlessMatch")],
    requestBody=_body("RecipientFieldReplacementEnvelope", newsletter=_NEWSLETTER),
)
_DELETE = _field_operation(
    "Delete a field",
    {
        "204": response(
            "The field is deleted. Its key can be used again at once. Its id is never used again.",
            "Vary",
        )
    },
    *(403, 404, 412),
    operationId="delete_recipient_field",
    parameters=[_parameter("IfMatch"), _parameter("UnlessMatch")],
)


_RESTORE = _field_operation(
    "Restore a deleted field",
    {"200": _one_field("The restored field, with its id and a new version.", tier=_TIER_RESPONSE)},
    *(403, 404, 409),
    operationId="restore_recipient_field",
    description=(
        "The field gets back its id, its key and its other members, except `updated_at`. If a "
        "field has its key, or if it is not deleted, the response is 409, and also if the record "
        "of its deletion can have been removed (`history_removed`). The request needs no body: the "
        "service ignores it."
    ),
)


_APPLY = _field_operation(
    "Apply several operations, all or none",
    {
        "200": response(
            "The field of each operation after the batch, in order, or its id and key.",
            "Vary",
            "Preference-Applied",
            content=json_content(
                "BatchResultList",
                create_and_update={
                    "results": [
                        _response_example(**_SHOE_SIZE, key="shoe_size"),
                        _response_example(id=1, key="loyalty_tier", **_TIERS),
                    ]
                },
            ),
        )
    },
    *(403, 404, 409, 412, 415, 422),
    operationId="apply_recipient_field_batch",
    description=(
        "If an operation fails, none takes effect: the response has the status of the first failed "
        "operation, and `details` contains all failures, with pointers below `/operations/N`. "
        "With `if_revision`, the request can be repeated safely: if the first one took effect, "
        "the second one gets 412. If the fields would have more than 8 MiB, the response contains "
        "only their ids and keys, as with `Prefer: return=minimal`."
    ),
    parameters=[_parameter("Prefer")],
    requestBody={
        "required": True,
        "content": json_content(
            "RecipientFieldBatch",
            create_and_update={
                "operations": [
                    {"operation": "create", "recipient_field": _SHOE_SIZE},
                    {"operation": "update", "reference": "loyalty_tier", "recipient_field": _TIERS},
                ]
            },
        ),
    },
)


def _history_operation(summary: str, *errors: int, examples: Schema, **more: Any) -> dict[str, Any]:
    return _field_operation(
        summary,
        {
            "200": response(
                "The records, by ascending sequence number.",
                "ETag",
                "Vary",
                "Link",
                content=json_content("HistoryRecordList", **examples),
            ),
            "304": response("The client's version is current.", "ETag", "Vary", "Link"),
        },
        *errors,
        tag=_HISTORY_TAG,
        **more,
    )


_HISTORY = _history_operation(
    "List the changes of all fields",
    examples={"renamed": _HISTORY_RESPONSE},
    operationId="list_recipient_field_changes",
    description=(
        "`Link` contains the next page. To follow the changes, continue with `after` and the last "
        "sequence number: this misses no record and returns none twice."
    ),
    parameters=_HISTORY_PARAMETERS,
)
_FIELD_HISTORY = _history_operation(
    "List the changes of a field",
    *(404,),
    examples={},
    operationId="list_changes_of_recipient_field",
    description="The changes of the field with this id, or of all fields that have had this key.",
    parameters=_FIELD_HISTORY_PARAMETERS,
)


_RECIPIENT_SCHEMA = _field_operation(
    "The JSON Schema of recipients",
    {
        "200": response(
            "A JSON Schema (2020-12).",
            "ETag",
            "Vary",
            content={JSON_SCHEMA: {"schema": {"type": "object", "additionalProperties": True}}},
        ),
        "304": _NOT_MODIFIED,
    },
    tag=_RECIPIENTS_TAG,
    operationId="get_recipient_schema",
    description="The values that a recipient of the organization may have, by the keys of fields.",
    parameters=[
        _query(
            "additional",
            "Whether recipients may have members that are no fields. The default is `false`.",
            {"type": "boolean"},
        ),
        _parameter("IfNoneMatch"),
    ],
)


def _computation(
    summary: str, tag: str, result: str, *, sent: Schema, received: Schema, **more: Any
) -> dict[str, Any]:
    """Return an operation with these bodies that stores nothing."""
    return _field_operation(
        summary,
        {"200": response(result, "Vary", content=received)},
        *(415, 422),
        tag=tag,
        requestBody={"required": True, "content": sent},
        **more,
    )


_RECIPIENT_CHECKS = _computation(
    "Check recipients",
    _RECIPIENTS_TAG,
    "The result of each recipient, in order.",
    operationId="check_recipients",
    description=(
        "Checks the values of up to 1,000 recipients against the fields. Read-only API keys can "
        "send this request."
    ),
    sent=json_content(
        "RecipientList",
        tiers={"recipients": [{"loyalty_tier": "gold"}, {"loyalty_tier": "gould"}]},
    ),
    received=json_content(
        "RecipientCheckList",
        tiers={
            "results": [
                {"valid": True, "recipient": {"loyalty_tier": "gold"}},
                {
                    "valid": False,
                    "violations": [
                        {
                            "pointer": "/loyalty_tier",
                            "code": "unknown_value",
                            "message": "Use one of gold, silver, bronze.",
                            "suggestion": "gold",
                        }
                    ],
                },
            ]
        },
    ),
)
_COMPILE = _computation(
    "Compile a condition",
    _CODE_TAG,
    "The code of the ESP.",
    operationId="compile_condition",
    description=(
        "The body has at most 64 KiB. If the ESP can't express the condition, the response is 422 "
        "`not_expressible`. Read-only API keys can send this request."
    ),
    sent=json_content(
        "ConditionCompilation",
        gold={
            "condition": 'loyalty_tier = "gold"',
            "esp": Esp.BRAZE.value,
            "then": "Thank you!",
            "else": "Hello.",
        },
    ),
    received=json_content(
        "CompiledCondition",
        gold={
            "esp": Esp.BRAZE.value,
            "code": (
                '{% if custom_attribute.${loyalty_tier} == "gold" %}Thank you!'
                "{% else %}Hello.{% endif %}"
            ),
            "prelude": None,
            "caveats": [],
        },
    ),
)
_EXPORT = _computation(
    "Export content",
    _CODE_TAG,
    "The content with the code of the ESP.",
    operationId="export_content",
    description=(
        "The body has at most 4 MiB. Each violation of the content has a `line` and a `column`. "
        "Read-only API keys can send this request."
    ),
    sent=json_content(
        "ContentExport",
        tier={"content": "Your tier: {{recipient.loyalty_tier}}.", "esp": Esp.BRAZE.value},
    ),
    received=json_content(
        "ExportedContent",
        tier={
            "content": "Your tier: {{custom_attribute.${loyalty_tier}}}.",
            "warnings": [],
            "fields": ["loyalty_tier"],
        },
    ),
)


def _cacheable(description: str, media_type: str, *headers: str, **schema: Any) -> Responses:
    return {
        "200": response(description, "ETag", *headers, content={media_type: {"schema": schema}}),
        "304": response("The client's version is current.", "ETag", *headers),
    }


_DOCUMENT = _open_operation(
    "This document",
    _cacheable("The OpenAPI document.", JSON, type="object"),
    operationId="get_openapi",
    parameters=[_parameter("IfNoneMatch")],
)
_PAGE = _open_operation(
    "The reference page",
    _cacheable("The page.", "text/html", "Content-Security-Policy", type="string"),
    operationId="get_docs",
    parameters=[_parameter("IfNoneMatch")],
)
_LIVENESS = _open_operation(
    "Liveness",
    {"200": response("The process runs.", content=json_content("Health", up={"status": "ok"}))},
    operationId="get_healthz",
)
_READINESS = _open_operation(
    "Readiness",
    {
        "200": response(
            "The storage responds, and its schema is current.",
            content=json_content("Health", ready={"status": "ready"}),
        )
    },
    operationId="get_readyz",
)
