"""The forms that a browser sends, with limits."""

from __future__ import annotations

from collections.abc import Mapping
from urllib.parse import parse_qsl

import falcon
from attrs import field, frozen
from falcon.media.multipart import MultipartFormHandler

MAX_BODY_SIZE = 1024 * 1024

MAX_INPUTS = 1_200
"""Enough for a field with 1,000 allowed values."""

_URLENCODED = "application/x-www-form-urlencoded"
_MULTIPART = "multipart/form-data"


@frozen
class Form:
    """The inputs of a form, and the content of its files by input name."""

    inputs: Mapping[str, tuple[str, ...]] = field(factory=dict, repr=False)
    files: Mapping[str, bytes] = field(factory=dict, repr=False)

    def text(self, name: str) -> str:
        """Return the value of the first input with this name, or an empty text."""
        return next(iter(self.texts(name)), "")

    def texts(self, name: str) -> tuple[str, ...]:
        """Return the values of all inputs with this name, in order."""
        return self.inputs.get(name, ())


def read_form(req: falcon.Request) -> Form:
    """Return the form in the body of the request, with line feeds as line breaks.

    Raises: a falcon.HTTPError if the body is not a form, or is larger than the limits.
    """
    media_type = (req.content_type or "").partition(";")[0].strip().lower()
    if (req.content_length or 0) > MAX_BODY_SIZE:
        raise falcon.HTTPContentTooLarge
    if media_type == _MULTIPART:
        return _read_multipart(req)
    if media_type != _URLENCODED:
        raise falcon.HTTPUnsupportedMediaType
    body = req.bounded_stream.read(MAX_BODY_SIZE + 1)
    if len(body) > MAX_BODY_SIZE:
        raise falcon.HTTPContentTooLarge
    try:
        pairs = parse_qsl(
            body.decode("ascii"),
            keep_blank_values=True,
            errors="strict",
            max_num_fields=MAX_INPUTS,
        )
    except ValueError:  # Also for bytes that are not UTF-8, and for too many inputs.
        raise _malformed() from None
    return Form(_grouped(pairs))


def _read_multipart(req: falcon.Request) -> Form:
    handler = MultipartFormHandler()
    handler.parse_options.max_body_part_buffer_size = MAX_BODY_SIZE
    pairs: list[tuple[str, str]] = []
    files: dict[str, bytes] = {}
    try:
        for part in handler.deserialize(
            req.bounded_stream,
            req.content_type,
            req.content_length,
        ):
            content = part.get_data()
            if part.filename is not None:
                files[part.name or ""] = content
            else:
                pairs.append((part.name or "", content.decode("utf-8")))
    except (falcon.MediaMalformedError, falcon.HTTPInvalidHeader, ValueError):
        raise _malformed() from None
    return Form(_grouped(pairs), files)


def _grouped(pairs: list[tuple[str, str]]) -> Mapping[str, tuple[str, ...]]:
    lists: dict[str, list[str]] = {}
    for name, value in pairs:
        # Browsers send each line break of a text area as CR LF.
        lists.setdefault(name, []).append(value.replace("\r\n", "\n"))
    return {name: tuple(values) for name, values in lists.items()}


def _malformed() -> falcon.HTTPError:
    return falcon.HTTPBadRequest(description="The form is not well-formed. Reload the page.")
