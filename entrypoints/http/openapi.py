"""The published contract: one OpenAPI 3.1 document.

`openapi_schemas` has the shapes of bodies, `openapi_answers` the headers and refusals.
"""

from __future__ import annotations

from collections.abc import Iterable
from importlib.metadata import version
from typing import Any

from recipient_fields.domain import LONGEST_KEY, DataType, SortKey, Source

from .list_parameters import LARGEST_PAGE, LONGEST_TEXT
from .media_types import JSON, MERGE_PATCH
from .openapi_answers import HEADERS, RESPONSES, Answers, answer, bodiless, json_content, refusals
from .openapi_schemas import ID_PATTERN, KEY_PATTERN, NEW_KEY, SCHEMAS, Schema, ref

FIELDS = "/api/v1/recipient_fields"
FIELD = f"{FIELDS}/{{id_or_key}}"
PAGE_FILES = {
    "favicon-32x32.png": "image/png",
    "start.js": "text/javascript; charset=utf-8",
    "swagger-ui-bundle.js": "text/javascript; charset=utf-8",
    "swagger-ui.css": "text/css; charset=utf-8",
}
"""What the page at `/docs` loads, and of which media type."""

_DESCRIPTION = """\
Recipient fields are named attributes that email teams personalize content with. This API lists
and reads all fields of an organization, and creates, updates and deletes those that are managed
through it (`source` is `api`).

Every request under `/api/` carries an organization API key: `Authorization: Bearer <API_KEY>`.
Keys are for servers: there is no CORS. Every refusal is an error object with a `code` for programs
and a `message` for people, or a problem document (RFC 9457) for who accepts
`application/problem+json`.

Within `/api/v1` changes only add: members, parameters, enum values. Tolerate them. Unknown query
parameters are refused.
"""


def document(mount_path: str = "") -> dict[str, Any]:
    """The OpenAPI document of the service at that path of its server."""
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
                "parameters": [_REQUEST_ID],
                "get": {**_LIST, "operationId": "list_recipient_fields"},
                "head": _head(_LIST, "list_recipient_fields"),
                "post": _CREATE,
                "options": _options("recipient_fields", _FIELDS_TAG),
            },
            FIELD: {
                "parameters": [_ID_OR_KEY, _REQUEST_ID],
                "get": {**_GET, "operationId": "get_recipient_field"},
                "head": _head(_GET, "get_recipient_field"),
                "patch": _UPDATE,
                "put": _REPLACE,
                "delete": _DELETE,
                "options": _options("recipient_field", _FIELDS_TAG, _ID_OR_KEY),
            },
            "/openapi.json": _open_path("openapi", _DOCUMENT),
            "/docs": _open_path("docs", _PAGE),
            "/docs/{file}": _open_path("docs_file", _PAGE_FILE, _FILE),
            "/healthz": _open_path("healthz", _LIVENESS),
            "/readyz": _open_path("readyz", _READINESS),
        },
        "components": {
            "schemas": SCHEMAS,
            "headers": HEADERS,
            "responses": RESPONSES,
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
_SERVICE_TAG = "Service"
_TAGS = {
    _FIELDS_TAG: "The fields of the organization that the API key belongs to.",
    _SERVICE_TAG: "Health and documentation. No API key.",
}

_REFUSED_ANYWHERE = (400, 406, 408, 413, 414, 431, 500, 501, 503)
_REFUSED_BEHIND_KEYS = (*_REFUSED_ANYWHERE, 401)


def _operation(
    summary: str, tag: str, answers: Answers, *refused: int, **more: Any
) -> dict[str, Any]:
    return {
        "summary": summary,
        "tags": [tag],
        **more,
        "responses": {**answers, **refusals(refused)},
    }


def _field_operation(summary: str, answers: Answers, *refused: int, **more: Any) -> dict[str, Any]:
    return _operation(summary, _FIELDS_TAG, answers, *_REFUSED_BEHIND_KEYS, *refused, **more)


def _open_operation(summary: str, answers: Answers, *refused: int, **more: Any) -> dict[str, Any]:
    everywhere = {"security": [], **more}
    return _operation(summary, _SERVICE_TAG, answers, *_REFUSED_ANYWHERE, *refused, **everywhere)


def _head(get: dict[str, Any], name: str) -> dict[str, Any]:
    return {
        **get,
        "operationId": f"head_{name}",
        "summary": f"{get['summary']}, without the body",
        "responses": bodiless(get["responses"]),
    }


def _options(name: str, tag: str, *parameters: Schema) -> dict[str, Any]:
    vary = ("Vary",) if tag is _FIELDS_TAG else ()
    answers = {"204": answer("The methods are in `Allow`.", "Allow", *vary)}
    build = _field_operation if tag is _FIELDS_TAG else _open_operation
    options = build("The methods of the resource", answers, operationId=f"options_{name}")
    if parameters:  # whatever they are: OPTIONS asks for no field and no file
        anything = {"type": "string"}
        options["parameters"] = [{**parameter, "schema": anything} for parameter in parameters]
    return options


def _open_path(name: str, get: dict[str, Any], *parameters: Schema) -> dict[str, Any]:
    return {
        "parameters": [*parameters, _REQUEST_ID],
        "get": {**get, "operationId": f"get_{name}"},
        "head": _head(get, f"get_{name}"),
        "options": _options(name, _SERVICE_TAG, *parameters),
    }


def _query(name: str, description: str, schema: Schema, **more: Any) -> Schema:
    return {"name": name, "in": "query", "description": description, "schema": schema, **more}


def _alternatives(name: str, description: str, one: Schema) -> Schema:
    values = {"type": "array", "minItems": 1, "items": one}
    description = f"{description} Several, separated by commas, are alternatives."
    return _query(name, description, values, style="form", explode=False)


def _names(enum: type[DataType] | type[Source]) -> Schema:
    return {"type": "string", "enum": [member.value for member in enum]}


_TAGS_PATTERN = r'(?:W/)?"[\x21\x23-\x7e\x80-\xff]*"'
_PRECONDITION: Schema = {
    "type": "string",
    "pattern": rf"^(?:\*|[ \t,]*{_TAGS_PATTERN}(?:[ \t]*,[ \t,]*{_TAGS_PATTERN})*[ \t,]*)$",
}
_REQUEST_ID: Schema = {
    "name": "X-Request-Id",
    "in": "header",
    "description": "Echoed if it matches `[A-Za-z0-9._-]{1,64}`, else replaced.",
    "schema": {"type": "string"},
}
_IF_MATCH: Schema = {
    "name": "If-Match",
    "in": "header",
    "description": "The `ETag` that the field must have, else 412.",
    "schema": _PRECONDITION,
}
_IF_NONE_MATCH: Schema = {
    "name": "If-None-Match",
    "in": "header",
    "description": "The `ETag` of the version that is known already: 304 where it still holds.",
    "schema": _PRECONDITION,
}
_UNLESS_MATCH: Schema = {
    **_IF_NONE_MATCH,
    "description": "412 where the field has this `ETag`; `*`: where the field exists.",
}
_ID_OR_KEY: Schema = {
    "name": "id_or_key",
    "in": "path",
    "required": True,
    "description": "Digits are an id, anything else is a key.",
    "schema": {
        "type": "string",
        "maxLength": LONGEST_KEY,
        "pattern": f"^(?:{ID_PATTERN[1:-1]}|{KEY_PATTERN[1:-1]})$",
    },
    "examples": {"id": {"value": "1"}, "key": {"value": "loyalty_tier"}},
}
_FILE: Schema = {
    "name": "file",
    "in": "path",
    "required": True,
    "description": "What the page loads.",
    "schema": {"type": "string", "enum": list(PAGE_FILES)},
}
_LIST_PARAMETERS = [
    _alternatives("source", "Only fields of that origin.", _names(Source)),
    _alternatives("data_type", "Only fields of that data type.", _names(DataType)),
    _alternatives("key", "Only the field with that key.", NEW_KEY),
    _alternatives(
        "integration_id",
        "Only fields that the integration syncs.",
        {"type": "integer", "minimum": 1, "maximum": 10**16 - 1},
    ),
    _query("insertable", "Only fields that can, or can't, be inserted.", {"type": "boolean"}),
    _query(
        "q",
        "Only fields with this text in name, key or ESP field name, whatever its case.",
        {"type": "string", "minLength": 1, "maxLength": LONGEST_TEXT, "pattern": r"^[^\x00]*$"},
    ),
    _query(
        "sort",
        "The order, ties by ascending id; `-` before it: descending. Texts by code points.",
        {
            "type": "string",
            "enum": [sign + key.value for key in SortKey for sign in ("", "-")],
            "default": SortKey.ID.value,
        },
    ),
    _query(
        "limit",
        "How many fields a page has. Left out: all.",
        {"type": "integer", "minimum": 1, "maximum": LARGEST_PAGE},
    ),
    _query(
        "cursor",
        "Where a page begins. Opaque: take it from `Link`, together with the other parameters.",
        {"type": "string", "pattern": "^[A-Za-z0-9_-]+$"},
    ),
]


def _body(schema: str, *media_types: str, **examples: object) -> Schema:
    shown = {name: {"value": {"recipient_field": members}} for name, members in examples.items()}
    content = {"schema": ref(schema), "examples": shown}
    return {"required": True, "content": dict.fromkeys(media_types or (JSON,), content)}


def _shown(**members: object) -> Schema:
    """A field as it is answered, made of the members that matter."""
    field: dict[str, object] = {
        "id": 4,
        "name": None,
        "key": None,
        "data_type": "text",
        "allowed_values": None,
        "insertable": True,
        "source": Source.API.value,
        "integration_id": None,
        "esp_field_name": None,
        "custom_insertion_code": None,
        "custom_value_expression": None,
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
_TIER_SHOWN = _shown(
    id=1, name="Loyalty tier", key="loyalty_tier", allowed_values=["gold", "silver", "bronze"]
)
_LIST_SHOWN = {
    "recipient_fields": [
        shown["recipient_field"]
        for shown in (
            _TIER_SHOWN,
            _shown(id=2, name="Preferred shop", key="preferred_shop", source=Source.MANUAL.value),
            _shown(
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


def _links(source: str) -> Schema:
    """Where an answered field leads, by its id and by its key."""
    operations = ("get", "update", "replace", "delete")
    return {
        f"{operation}_by_{part}": {
            "operationId": f"{operation}_recipient_field",
            "parameters": {"id_or_key": f"$response.body#{source}/{part}"},
        }
        for operation in operations
        for part in ("id", "key")
    }


def _one_field(description: str, *headers: str, **examples: object) -> Schema:
    return answer(
        description,
        "ETag",
        "Vary",
        *headers,
        content=json_content("RecipientFieldEnvelope", **examples),
        links=_links("/recipient_field"),
    )


_NOT_MODIFIED = answer("What the client has is current.", "ETag", "Vary")

_LIST = _field_operation(
    "List the fields",
    {
        "200": answer(
            "The fields, ordered by id unless told otherwise.",
            "ETag",
            "Vary",
            "Total-Count",
            "Link",
            content=json_content("RecipientFieldList", every_origin=_LIST_SHOWN),
            links=_links("/recipient_fields/0"),
        ),
        "304": answer("What the client has is current.", "ETag", "Vary", "Total-Count", "Link"),
    },
    description=(
        "Every field of the organization, whatever its origin; all of them, unless parameters ask "
        "for some. A page's successor is in `Link`."
    ),
    parameters=[*_LIST_PARAMETERS, _IF_NONE_MATCH],
)
_CREATE = _field_operation(
    "Create a field",
    {
        "201": _one_field(
            "The field that was made.",
            "Location",
            shoe_size=_shown(**_SHOE_SIZE, key="shoe_size"),
            date_of_birth=_shown(**_BIRTHDAY),
        )
    },
    *(403, 409, 415, 422),
    operationId="create_recipient_field",
    description=(
        "Without a `key`, the name gives the field one. It is never suffixed: a key that is taken "
        "is 409, so a repeated request makes no second field."
    ),
    requestBody=_body("RecipientFieldDraftEnvelope", shoe_size=_SHOE_SIZE, date_of_birth=_BIRTHDAY),
)
_GET = _field_operation(
    "Read a field",
    {
        "200": _one_field("The field.", tier=_TIER_SHOWN),
        "304": _NOT_MODIFIED,
    },
    *(404,),
    parameters=[_IF_NONE_MATCH],
)
_UPDATE = _field_operation(
    "Change a field",
    {
        "200": _one_field(
            "The whole field.",
            rename=_shown(id=1, key="loyalty_tier", **_TIERS),
            any_value=_shown(id=1, name="Loyalty tier", key="loyalty_tier"),
        )
    },
    *(403, 404, 412, 415, 422),
    operationId="update_recipient_field",
    description=(
        "Members left out stay; null clears a nullable one (JSON merge patch, inside the "
        "envelope). A change of nothing changes nothing."
    ),
    parameters=[_IF_MATCH, _UNLESS_MATCH],
    requestBody=_body(
        "RecipientFieldChangesEnvelope", JSON, MERGE_PATCH, rename=_TIERS, any_value=_NO_TIERS
    ),
)
_REPLACE = _field_operation(
    "Replace a field, or create it by key",
    {
        "200": _one_field("The field that was replaced."),
        "201": _one_field(
            "The field that was made, for the key was free.",
            "Location",
            newsletter=_shown(**_NEWSLETTER, key="newsletter"),
        ),
    },
    *(403, 404, 409, 412, 415, 422),
    operationId="replace_recipient_field",
    description=(
        "All writable members are replaced; those left out take their defaults. By a key that is "
        "free it creates the field, so it can be repeated safely; `If-None-Match: *` creates "
        "only. An unknown id is 404."
    ),
    parameters=[_IF_MATCH, _UNLESS_MATCH],
    requestBody=_body("RecipientFieldReplacementEnvelope", newsletter=_NEWSLETTER),
)
_DELETE = _field_operation(
    "Delete a field",
    {"204": answer("The field is gone. Its key is free at once, its id never returns.", "Vary")},
    *(403, 404, 412),
    operationId="delete_recipient_field",
    parameters=[_IF_MATCH, _UNLESS_MATCH],
)


def _kept(description: str, media_types: Iterable[str], *headers: str, **schema: Any) -> Answers:
    content = {media_type: {"schema": schema} for media_type in media_types}
    return {
        "200": answer(description, "ETag", *headers, content=content),
        "304": answer("What the client has is current.", "ETag", *headers),
    }


_DOCUMENT = _open_operation(
    "This document",
    _kept("The OpenAPI document.", [JSON], type="object"),
    parameters=[_IF_NONE_MATCH],
)
_PAGE = _open_operation(
    "A reference to browse",
    _kept("The page.", ["text/html"], "Content-Security-Policy", type="string"),
    parameters=[_IF_NONE_MATCH],
)
_PAGE_FILE = _open_operation(
    "What the reference loads",
    _kept("The file.", [media_type.partition(";")[0] for media_type in PAGE_FILES.values()]),
    404,
    parameters=[_IF_NONE_MATCH],
)
_LIVENESS = _open_operation(
    "Is the process up?",
    {"200": answer("It is.", content=json_content("Health", up={"status": "ok"}))},
)
_READINESS = _open_operation(
    "Does the storage answer?",
    {
        "200": answer(
            "It does, and its schema is current.",
            content=json_content("Health", ready={"status": "ready"}),
        )
    },
)
