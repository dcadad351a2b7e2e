"""The forms that a browser sends, with limits, and the errors at their inputs."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from http import HTTPStatus
from threading import Lock
from urllib.parse import parse_qsl, urlencode

import falcon
from attrs import evolve, field, frozen
from falcon import Request
from falcon.media.multipart import MultipartFormHandler

from recipient_fields.application.fields.texts import is_id
from recipient_fields.domain import FieldId, InvalidInput

MEBIBYTE = 1024 * 1024
MAX_BODY_SIZE = MEBIBYTE
"""The maximum size of most forms, in bytes."""

MAX_INPUTS = 1_200
"""Enough for a field with 1,000 allowed values."""

_URLENCODED = "application/x-www-form-urlencoded"
_MULTIPART = "multipart/form-data"


@frozen
class UploadedFile:
    """A file of a form. Its name is what the browser sent."""

    name: str = ""
    content: bytes = field(default=b"", repr=False)


@frozen
class Form:
    """The inputs and the files of a form, by input name."""

    inputs: Mapping[str, tuple[str, ...]] = field(factory=dict, repr=False)
    files: Mapping[str, UploadedFile] = field(factory=dict, repr=False)

    def text(self, name: str) -> str:
        """Return the value of the first input with this name, or an empty text."""
        values = self.inputs.get(name)
        return values[0] if values else ""

    def texts(self, name: str) -> tuple[str, ...]:
        """Return the values of all inputs with this name, in order."""
        return self.inputs.get(name, ())

    def file(self, name: str) -> UploadedFile:
        """Return the file of the input with this name, or an empty one."""
        return self.files.get(name, UploadedFile())

    @property
    def has_files(self) -> bool:
        """Whether a file was chosen."""
        return any(file.name for file in self.files.values())

    def without(self, names: Collection[str]) -> Form:
        """Return this form without the inputs with these names."""
        inputs = {name: values for name, values in self.inputs.items() if name not in names}
        return evolve(self, inputs=inputs)

    def with_texts(self, **inputs: Iterable[str]) -> Form:
        """Return this form with these values of inputs."""
        changed = {name: tuple(values) for name, values in inputs.items()}
        return evolve(self, inputs={**self.inputs, **changed})

    def encode(self) -> str:
        """Return the inputs, without the files, as a text for `decode_form`."""
        return urlencode(self.inputs, doseq=True)


def read_form(req: Request, max_size: int) -> Form:
    """Return the form in the body of the request, with line feeds as line breaks.

    Raises: a falcon.HTTPError if the body is not a form, or is larger than `max_size` bytes.
    """
    media_type = (req.content_type or "").partition(";")[0].strip().lower()
    if (req.content_length or 0) > max_size:
        raise _too_large(max_size)
    if media_type == _MULTIPART:
        return _read_multipart(req, max_size)
    if media_type != _URLENCODED:
        raise falcon.HTTPUnsupportedMediaType
    body = req.bounded_stream.read(max_size + 1)
    if len(body) > max_size:
        raise _too_large(max_size)
    try:
        return decode_form(body.decode("ascii"))
    except UnicodeDecodeError:
        raise _malformed() from None


def decode_form(text: str) -> Form:
    """Return the form with these URL-encoded inputs. Raises: HTTPBadRequest."""
    try:
        pairs = parse_qsl(text, keep_blank_values=True, errors="strict", max_num_fields=MAX_INPUTS)
    except ValueError:  # Also for bytes that are not UTF-8, and for too many inputs.
        raise _malformed() from None
    return Form(_grouped(pairs))


def field_ids(form: Form, name: str) -> list[FieldId]:
    """Return the ids in an input of the form, which a page has filled in.

    Raises: HTTPBadRequest if they are not ids.
    """
    ids = form.text(name).split()
    if not all(map(is_id, ids)):
        raise falcon.HTTPBadRequest(description="The form is not complete. Reload the page.")
    return [FieldId(int(each)) for each in ids]


def _read_multipart(req: Request, max_size: int) -> Form:
    handler = MultipartFormHandler()
    handler.parse_options.max_body_part_buffer_size = max_size
    pairs: list[tuple[str, str]] = []
    files: dict[str, UploadedFile] = {}
    try:
        for part in handler.deserialize(
            req.bounded_stream,
            req.content_type,
            req.content_length,
        ):
            content = part.get_data()
            if part.filename is not None:
                files[part.name or ""] = UploadedFile(part.filename, content)
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


def _too_large(max_size: int) -> falcon.HTTPError:
    return falcon.HTTPContentTooLarge(
        description=f"This form has at most {max_size // MEBIBYTE} MiB. Enter less text, or upload"
        " a smaller file."
    )


def _malformed() -> falcon.HTTPError:
    return falcon.HTTPBadRequest(description="The form is not well-formed. Reload the page.")


@frozen
class FormError:
    """An error at an input. `anchor` is the id of the input, and `label` its visible name."""

    anchor: str
    label: str
    message: str
    suggestion: str | None = None


@frozen
class FormErrors:
    """The errors of a form."""

    errors: tuple[FormError, ...] = ()

    @classmethod
    def of(cls, invalid: InvalidInput, labels: Mapping[str, str]) -> FormErrors:
        """Return the violations at the inputs with these labels.

        The path of a violation begins with the name of its input.
        """
        found = [(str(each.path[0]), each.message) for each in invalid.violations]
        return cls(tuple(FormError(name, labels[name], message) for name, message in found))

    @property
    def status(self) -> HTTPStatus:
        """The status of the page with the form."""
        return HTTPStatus.UNPROCESSABLE_ENTITY if self.errors else HTTPStatus.OK

    def at(self, name: str) -> list[FormError]:
        """Return the errors at an input."""
        return [each for each in self.errors if each.anchor == name]


NO_ERRORS = FormErrors()


@frozen
class OneAtATime:
    """Work that a request does, or a request of another administrator."""

    busy: str
    """What the other one is told."""
    _running: Lock = field(factory=Lock, init=False, eq=False, repr=False)

    @contextmanager
    def working(self) -> Iterator[None]:
        """Do the work in the block. Raises: HTTPServiceUnavailable if another request does."""
        if not self._running.acquire(blocking=False):
            raise falcon.HTTPServiceUnavailable(description=self.busy, retry_after=5)
        try:
            yield
        finally:
            self._running.release()
