"""What is read from a request: its id, credential, query parameters, headers and body.

Each query parameter is known and well-formed, or the request is rejected: a typo must not return
everything.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from functools import lru_cache
from random import getrandbits
from typing import Any
from urllib.parse import quote, unquote_plus

from falcon import Request
from falcon.util import mediatypes

from recipient_fields.application.documents.schemas import NamedSchema
from recipient_fields.application.documents.strict_json import (
    NotJson,
    TooManyValues,
    parse_json,
)
from recipient_fields.domain import (
    ANY_VERSION,
    API,
    UNCONDITIONAL,
    Author,
    Credential,
    InvalidField,
    Precondition,
    Rule,
    Versions,
    Violation,
    character_violation,
    closest_match,
    redact_keys,
)

from .problems import RequestRejected
from .resource import HTML, JSON, KIBIBYTE, Parameter, Resource

HIDDEN_KEY = "[API key]"
"""What the log shows instead of a request id that is an API key."""

_REQUEST_ID = re.compile(r"[A-Za-z0-9._-]{1,64}")


def request_id(req: Request) -> str:
    """Return the id of the request."""
    if "request_id" not in req.context:
        req.context.request_id = choose_request_id(req.get_header("X-Request-Id"))
    identifier: str = req.context.request_id
    return identifier


def logged_request_id(req: Request) -> str:
    """Return the id of the request for the log, without an API key.

    Keys of other validators have no known form: only the `Authorization` header identifies them.
    """
    return redacted_request_id(request_id(req), req.get_header("Authorization"))


def redacted_request_id(identifier: str, authorization: str | None) -> str:
    """Return the id, or a placeholder if it is the key in that header or looks like one of ours."""
    if (authorization or "").endswith(f" {identifier}"):
        return HIDDEN_KEY
    return redact_keys(identifier)


def choose_request_id(sent: str | None) -> str:
    """Return the id that the client has sent if it is well-formed, and a new one otherwise."""
    if sent is not None and _REQUEST_ID.fullmatch(sent):
        return sent
    # The id is no secret. A cryptographic generator would cost one system call per request.
    return f"{getrandbits(128):032x}"  # nosec B311


_UNENCODED = "/~!$&'()*+,;=:@"
"""Characters that a path may contain without percent-encoding (RFC 3986, section 3.3)."""


def mount_path(req: Request) -> str:
    """Return the percent-encoded path at which the application is mounted, or "" for the root."""
    return quote(req.root_path, safe=_UNENCODED)


def credential(req: Request) -> Credential:
    """Return the credential of the request's API key."""
    validated: Credential = req.context.credential
    return validated


def author(req: Request) -> Author:
    """Return the author of the request's changes: its API key."""
    key = credential(req)
    return Author(API, id=key.key_id, name=key.key_display, request_id=logged_request_id(req))


def parameters(req: Request) -> Mapping[str, str]:
    """Return the query parameters, all of which the resource has."""
    parsed: Mapping[str, str] = req.context.parameters
    return parsed


def precondition(req: Request) -> Precondition:
    """Return the precondition that the request sets for the field's version."""
    parsed: Precondition = req.context.precondition
    return parsed


_MAX_NAME_LENGTH = 32
"""The longest unknown name that a message repeats. An API key is longer, and is never repeated."""
_HALF_ENCODED = re.compile(r"%(?![0-9A-Fa-f]{2})")


def parse_parameters(query_string: str, known: Mapping[str, Parameter]) -> Mapping[str, str]:
    """Return the parameters by name. If one has several values, commas join them.

    Raises: RequestRejected as `invalid_parameter` if a parameter is malformed, unknown, or repeated
    although it has a single value.
    """
    if not query_string:
        return {}
    encoded: dict[str, list[str]] = {}
    for pair in query_string.split("&"):
        name, _, value = pair.partition("=")
        encoded.setdefault(unquote_plus(name), []).append(value)
    unknown = [name for name in encoded if name not in known]
    if unknown:
        raise RequestRejected("invalid_parameter", _unknown(unknown, known))
    repeated = [name for name in encoded if len(encoded[name]) > 1 and not known[name].is_multiple]
    if repeated:
        message = f"Repeated query {_listed(repeated)}. Send each at most once."
        raise RequestRejected("invalid_parameter", message)
    return {
        name: ",".join(_decode(name, value) for value in values) for name, values in encoded.items()
    }


def parse_members(
    parameters: Mapping[str, str], parsers: Mapping[str, Parameter]
) -> dict[str, Any]:
    """Return the members of a query that the parameters describe.

    Raises: RequestRejected as `invalid_parameter` if a value is invalid.
    """
    members: dict[str, Any] = {}
    for name, value in parameters.items():
        parameter = parsers[name]
        if parameter.parse is None:
            continue
        try:
            members |= parameter.parse(value)
        except (ValueError, InvalidField):
            raise invalid_value(name, parameter.rule) from None
    return members


def invalid_value(name: str, rule: str) -> RequestRejected:
    """Return the error for a known query parameter or header whose value breaks the rule."""
    return RequestRejected("invalid_parameter", f"Invalid value for `{name}`: {rule}")


def _decode(name: str, value: str) -> str:
    rule = "percent-encode it as UTF-8. A percent sign is `%25`."
    if _HALF_ENCODED.search(value):  # `unquote_plus` would keep it unchanged.
        raise invalid_value(name, rule)
    try:
        text = unquote_plus(value, errors="strict")
    except UnicodeDecodeError:
        raise invalid_value(name, rule) from None
    if character_violation(text):
        raise invalid_value(name, "remove the null character.")
    return text


def _unknown(names: list[str], known: Collection[str]) -> str:
    """Return the message about these unknown parameters."""
    problem = f"Unknown query {_listed(names)}."
    if not known:
        return f"{problem} This request has no query parameters."
    meant = closest_match(names[0], known) if len(names) == 1 else None
    if meant is not None:
        return f"{problem} Did you mean `{meant}`?"
    return f"{problem} This request has the {_listed(known)}."


def _listed(names: Collection[str]) -> str:
    noun = "parameter" if len(names) == 1 else "parameters"
    return f"{noun} {', '.join(map(_shown, names))}"


def _shown(name: str) -> str:
    """Return the name as a message may repeat it: only if it is short and printable."""
    return f"`{name}`" if len(name) <= _MAX_NAME_LENGTH and name.isprintable() else "`…`"


_IN_UTF_8 = re.compile(
    r"([^\s;,]+)[ \t]*(?:;[ \t]*(?:charset=(?:utf-?8|\"utf-?8\")[ \t]*)?)*", re.IGNORECASE
)
"""A media type without parameters, or with the charset UTF-8. Some clients call it `utf8`. A
trailing `;` is valid (RFC 9110, section 5.6.6)."""
_QUOTED = re.compile(r'"(?>(?:[^"\\]|\\.)*)"?')
"""A quoted string, also without its closing quote: searching for that quote again after each quote
would take seconds."""


def require_acceptable(req: Request, media_types: tuple[str, ...]) -> None:
    """Raise RequestRejected unless the client accepts one of these media types."""
    try:
        quality = _quality(media_types, req.accept)
    except ValueError:
        raise invalid_value("Accept", "use media types such as `application/json`.") from None
    if quality:
        return
    if JSON in media_types:
        raise RequestRejected("not_acceptable")
    raise RequestRejected(
        "not_acceptable", f"The service sends {' or '.join(media_types)}. Accept that media type."
    )


def admits_html(accepted: str) -> bool:
    """Return whether an `Accept` header names HTML, as browsers do, and not only with `*/*`."""
    ranges = [range_.strip(" \t") for range_ in _readable(accepted).split(",")]
    html = ",".join(range_ for range_ in ranges if range_.partition(";")[0].rstrip() == HTML)
    try:
        return bool(html) and mediatypes.quality(HTML, html) > 0
    except ValueError:
        return False


def require_json(req: Request, media_types: tuple[str, ...]) -> None:
    """Raise RequestRejected unless the body is JSON in UTF-8, without a content encoding.

    `media_types` are the forms of JSON that the request can have.
    """
    if req.get_header("Content-Encoding") is not None:
        raise RequestRejected("unsupported_media_type", "Send the body without a Content-Encoding.")
    sent = _IN_UTF_8.fullmatch(req.content_type or "")
    if sent is None or sent[1].lower() not in media_types:
        message = f"Send the body as {' or '.join(media_types)} in UTF-8."
        raise RequestRejected("unsupported_media_type", message)


@lru_cache(maxsize=64)  # A client sends the same header with every request.
def _quality(media_types: tuple[str, ...], accepted: str) -> float:
    readable = _readable(accepted)
    return max(mediatypes.quality(media_type, readable) for media_type in media_types)


def _readable(accepted: str) -> str:
    """Return the `Accept` header in the form that Falcon can parse.

    It is in lower case, and has no empty list elements (RFC 9110, section 5.6.1.2). Quoted strings
    are emptied: our media types have no parameters, and a quoted comma would split the list.
    """
    ranges = _QUOTED.sub('""', accepted.lower()).split(",")
    return ",".join(range_ for range_ in ranges if range_.strip(" \t")) or "*/*"


_TAG = r'(?:W/)?"[\x21\x23-\x7e\x80-\xff]*"'
_TAGS = rf"[ \t,]*{_TAG}(?:[ \t]*,[ \t,]*{_TAG})*[ \t,]*"
_TAG_LIST = re.compile(_TAGS)
_EACH_TAG = re.compile(_TAG)
_WEAK = "W/"

PRECONDITION = NamedSchema("Precondition", {"type": "string", "pattern": rf"^(?:\*|{_TAGS})$"})
"""The schema of both headers."""


def parse_precondition(req: Request) -> Precondition:
    """Return the precondition that the headers of the request set.

    A weak tag never matches in `If-Match`. In `If-None-Match` it is equal to the strong one.
    Raises: RequestRejected if a header is malformed.
    """
    match = _versions(req, "If-Match", weak=False)
    none_match = _versions(req, "If-None-Match", weak=True)
    return UNCONDITIONAL if match is none_match is None else Precondition(match, none_match)


def _versions(req: Request, header: str, *, weak: bool) -> Versions | None:
    value = req.get_header(header)
    if value is None:
        return None
    if value.strip() == ANY_VERSION.value:
        return ANY_VERSION
    if _TAG_LIST.fullmatch(value) is None:
        raise invalid_value(header, 'use `*` or a list of entity tags such as `"1-19c"`.')
    tags = _EACH_TAG.findall(value)
    return frozenset(
        tag.removeprefix(_WEAK).strip('"') for tag in tags if weak or not tag.startswith(_WEAK)
    )


MINIMAL = "return=minimal"
"""The preference, and what `Preference-Applied` contains if the response follows it."""

# Possessive, so that no header takes more than linear time.
_PLAIN = r'[^\s",;=]++'
_WORD = rf'(?:"(?>(?:[^"\\]++|\\.)*)"|{_PLAIN})'
_PREFERENCE = re.compile(
    rf"\s*+(?P<name>{_PLAIN})\s*+(?>(?:=\s*+(?P<value>{_WORD}))?)"
    rf"\s*+(?>(?:;\s*+{_PLAIN}\s*+(?>(?:=\s*+{_WORD})?)\s*+)*)(?:,|$)"
)


def prefers_minimal(req: Request) -> bool:
    """Return whether the first preference `return` of the request is `minimal`.

    A malformed header has no effect, and neither have other preferences: a server may ignore them.
    """
    header, position = req.get_header("Prefer") or "", 0
    while position < len(header):
        match = _PREFERENCE.match(header, position)
        if match is None:
            return False
        if match["name"].lower() == "return":
            return (match["value"] or "").strip('"') == "minimal"
        position = match.end()
    return False


def require_size(req: Request, max_size: int) -> None:
    """Raise RequestRejected if the request announces a body of more than `max_size` bytes."""
    if (req.content_length or 0) > max_size:
        raise _too_large(max_size)


def read_json(req: Request, resource: Resource) -> object:
    """Return the value of the request's JSON document.

    Raises: RequestRejected if the body exceeds a limit of the resource, or is not JSON.
    """
    return parse_body(read_body(req, resource), resource)


def read_body(req: Request, resource: Resource) -> bytes:
    """Return the request's body.

    Raises: RequestRejected if it has more bytes than the resource permits.
    """
    body = req.bounded_stream.read(resource.max_body_size + 1)
    if len(body) > resource.max_body_size:
        raise _too_large(resource.max_body_size)
    return body


def parse_body(body: bytes, resource: Resource) -> object:
    """Return the value of a JSON document.

    Raises: RequestRejected if it exceeds a limit of the resource, or is not JSON.
    """
    max_values = resource.max_body_values
    try:
        return parse_json(body, max_values=max_values)
    except TooManyValues:
        message = f"The body has more than {max_values:,} names and values. Send fewer."
        violation = Violation(Rule.TOO_MANY_ITEMS, message)
        raise RequestRejected("validation_failed", violations=[violation]) from None
    except NotJson as malformed:
        raise RequestRejected("invalid_json", str(malformed)) from None


def _too_large(max_size: int) -> RequestRejected:
    kibibytes = max_size // KIBIBYTE
    size = f"{kibibytes // 1024} MiB" if kibibytes >= 1024 else f"{kibibytes} KiB"
    message = f"The request body is larger than {size}. Send less."
    return RequestRejected("payload_too_large", message)
