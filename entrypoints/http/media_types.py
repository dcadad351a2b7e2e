"""Media types: what a body may be, and what the client accepts (RFC 9110, sections 8.3, 12.5.1)."""

from __future__ import annotations

import re
from functools import lru_cache

import falcon
from falcon.util import mediatypes

from .parameters import invalid_value
from .problems import Refused

JSON = "application/json"
HTML = "text/html"
MERGE_PATCH = "application/merge-patch+json"
PROBLEM = "application/problem+json"

_IN_UTF_8 = re.compile(
    r"([^\s;,]+)[ \t]*(?:;[ \t]*(?:charset=(?:utf-8|\"utf-8\")[ \t]*)?)*", re.IGNORECASE
)
"""A media type that says UTF-8 or nothing more; a `;` may be left over (RFC 9110, 5.6.6)."""
_QUOTED = re.compile(r'"(?:[^"\\]|\\.)*+"?')
"""Also one that never ends: looking for its end once for each quote in it would take seconds."""

_WITH_BODY = {"PATCH": (JSON, MERGE_PATCH), "POST": (JSON,), "PUT": (JSON,)}


def require_acceptable(req: falcon.Request, answers: tuple[str, ...]) -> None:
    """Refused unless the client accepts one of these media types."""
    try:
        quality = _quality(answers, req.accept)
    except ValueError:
        raise invalid_value("Accept", "use media types such as `application/json`.") from None
    if quality:
        return
    if JSON in answers:
        raise Refused("not_acceptable")
    raise Refused("not_acceptable", f"This is {' or '.join(answers)}. Accept that media type.")


def prefers_problem(req: falcon.Request) -> bool:
    """Does the client name problem documents, and like them no less than plain JSON?"""
    return favours_problem(req.accept)


def favours_problem(accepted: str) -> bool:
    """The same of the value of an `Accept` header."""
    accepted = _readable(accepted)
    if PROBLEM not in accepted:
        return False
    try:
        problem, plain = (mediatypes.quality(answer, accepted) for answer in (PROBLEM, JSON))
    except ValueError:
        return False
    return problem > 0 and problem >= plain


def admits_html(req: falcon.Request) -> bool:
    """Return whether the client names HTML, as browsers do, and not only as part of `*/*`."""
    ranges = [range_.strip(" \t") for range_ in _readable(req.accept).split(",")]
    html = ",".join(range_ for range_ in ranges if range_.partition(";")[0].rstrip() == HTML)
    try:
        return bool(html) and mediatypes.quality(HTML, html) > 0
    except ValueError:
        return False


def require_json(req: falcon.Request) -> None:
    """Refused unless a body, where the method has one, is JSON in UTF-8 and not encoded further."""
    media_types = _WITH_BODY.get(req.method)
    if media_types is None:
        return
    if req.get_header("Content-Encoding") is not None:
        raise Refused("unsupported_media_type", "Send the body without a Content-Encoding.")
    stated = _IN_UTF_8.fullmatch(req.content_type or "")
    if stated is None or stated[1].lower() not in media_types:
        message = f"Send the body as {' or '.join(media_types)} in UTF-8."
        raise Refused("unsupported_media_type", message)


@lru_cache(maxsize=64)  # A client says the same at every request.
def _quality(answers: tuple[str, ...], accepted: str) -> float:
    readable = _readable(accepted)
    return max(mediatypes.quality(answer, readable) for answer in answers)


def _readable(accepted: str) -> str:
    """The `Accept` header as Falcon can read it: in lower case, without what a list may hold empty.

    RFC 9110, section 5.6.1.2. No type of ours has a parameter, so what one is quoted as is nothing
    to compare, and its commas would end it.
    """
    ranges = _QUOTED.sub('""', accepted.lower()).split(",")
    return ",".join(range_ for range_ in ranges if range_.strip(" \t")) or "*/*"
