"""The headers of requests: media types, conditions and preferences (RFC 9110, RFC 7240)."""

from __future__ import annotations

import re
from functools import lru_cache

import falcon
from falcon.util import mediatypes

from recipient_fields.application.documents.schemas import NamedSchema
from recipient_fields.domain import ANY_VERSION, UNCONDITIONAL, Precondition, Versions

from .parameters import invalid_value
from .problems import RequestRejected

JSON = "application/json"
JSON_SCHEMA = "application/schema+json"
HTML = "text/html"
MERGE_PATCH = "application/merge-patch+json"
PROBLEM = "application/problem+json"
"""A client that accepts only this type gets JSON, too: its library expects errors in RFC 9457."""

_IN_UTF_8 = re.compile(
    r"([^\s;,]+)[ \t]*(?:;[ \t]*(?:charset=(?:utf-?8|\"utf-?8\")[ \t]*)?)*", re.IGNORECASE
)
"""A media type without parameters, or with the charset UTF-8. Some clients call it `utf8`. A
trailing `;` is valid (RFC 9110, section 5.6.6)."""
_QUOTED = re.compile(r'"(?>(?:[^"\\]|\\.)*)"?')
"""A quoted string, also without its closing quote: searching for that quote again after each quote
would take seconds."""


def require_acceptable(req: falcon.Request, media_types: tuple[str, ...]) -> None:
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


def require_json(req: falcon.Request, media_types: tuple[str, ...]) -> None:
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


def parse_precondition(req: falcon.Request) -> Precondition:
    """Return the precondition that the headers of the request set.

    A weak tag never matches in `If-Match`. In `If-None-Match` it is equal to the strong one.
    Raises: RequestRejected if a header is malformed.
    """
    match = _versions(req, "If-Match", weak=False)
    none_match = _versions(req, "If-None-Match", weak=True)
    return UNCONDITIONAL if match is none_match is None else Precondition(match, none_match)


def _versions(req: falcon.Request, header: str, *, weak: bool) -> Versions | None:
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


def prefers_minimal(req: falcon.Request) -> bool:
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
