"""Conditional requests: `If-Match` and `If-None-Match` (RFC 9110, section 13)."""

from __future__ import annotations

import re

import falcon

from recipient_fields.application.documents.schemas import NamedSchema
from recipient_fields.domain import ANY_VERSION, UNCONDITIONAL, Precondition, Versions

from .parameters import invalid_value

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
