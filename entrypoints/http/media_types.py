"""Media types: what a body may be, and what the client accepts (RFC 9110, sections 8.3, 12.5.1)."""

from __future__ import annotations

from functools import lru_cache

import falcon
from falcon.util import mediatypes

from .problems import Refused

JSON = "application/json"
MERGE_PATCH = "application/merge-patch+json"
PROBLEM = "application/problem+json"

_WITH_BODY = {"PATCH": (JSON, MERGE_PATCH), "POST": (JSON,), "PUT": (JSON,)}


def require_acceptable(req: falcon.Request, answers: tuple[str, ...]) -> None:
    """Refused unless the client accepts one of these media types."""
    try:
        quality = _quality(answers, _accepted(req))
    except ValueError:
        raise Refused("invalid_parameter", "The Accept header is malformed.") from None
    if not quality:
        raise Refused("not_acceptable")


def prefers_problem(req: falcon.Request) -> bool:
    """Does the client name problem documents, and like them no less than plain JSON?"""
    return favours_problem(_accepted(req))


def favours_problem(accepted: str) -> bool:
    """The same of the value of an `Accept` header, in lower case."""
    if PROBLEM not in accepted:
        return False
    try:
        problem, plain = (mediatypes.quality(answer, accepted) for answer in (PROBLEM, JSON))
    except ValueError:
        return False
    return problem > 0 and problem >= plain


def require_json(req: falcon.Request) -> None:
    """Refused unless a body, where the method has one, is JSON in UTF-8 and not encoded further."""
    media_types = _WITH_BODY.get(req.method)
    if media_types is None:
        return
    if req.get_header("Content-Encoding") is not None:
        raise Refused("unsupported_media_type", "Send the body without a Content-Encoding.")
    media_type, parameters = falcon.parse_header(req.content_type or "")
    charset = parameters.pop("charset", "utf-8").lower()
    if media_type.strip().lower() not in media_types or parameters or charset != "utf-8":
        message = f"Send the body as {' or '.join(media_types)} in UTF-8."
        raise Refused("unsupported_media_type", message)


@lru_cache(maxsize=64)  # A client says the same at every request.
def _quality(answers: tuple[str, ...], accepted: str) -> float:
    return max(mediatypes.quality(answer, accepted) for answer in answers)


def _accepted(req: falcon.Request) -> str:
    """The `Accept` header in lower case, since Falcon compares media types as they are sent."""
    return req.accept.lower()
