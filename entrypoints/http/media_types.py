"""Content negotiation: the media types of bodies and responses (RFC 9110, sections 8.3, 12.5.1)."""

from __future__ import annotations

import re
from functools import lru_cache

import falcon
from falcon.util import mediatypes

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
