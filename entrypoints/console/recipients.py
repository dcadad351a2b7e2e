"""The check of an uploaded list of recipients. Nothing of the list is stored or logged."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from time import thread_time
from typing import BinaryIO, TypeAlias
from urllib.parse import urlencode

from attrs import evolve, field, frozen
from falcon import Request, Response

from recipient_fields.application.ports.recipients import (
    FileFormat,
    FileOptions,
    RecipientReader,
    UnreadableFile,
)
from recipient_fields.application.recipients.lists import CheckReport, ListOptions, RecipientList
from recipient_fields.domain import InvalidInput, RecipientFieldsError, TextFormats
from recipient_fields.domain.integrations import EspNames, Integration
from recipient_fields.domain.text import to_line

from . import MAX_FILE_SIZE, MAX_FORM_SIZE
from .forms import (
    NO_ERRORS,
    Form,
    FormError,
    FormErrors,
    OneAtATime,
    UploadedFile,
    decode_form,
)
from .pages import Page
from .requests import visit

OpenRecipients: TypeAlias = Callable[
    [BinaryIO, str, FileOptions], AbstractContextManager[RecipientReader]
]
"""Opens a file with this name. Raises: UnreadableFile if its beginning can't be read."""

_MAX_NAME_LENGTH = 100
_USE_COMMAND = "Split the list, or check it with the command recipient-fields recipients check."
_BUSY = "The server checks another list at the moment. Try again in a few seconds."
_ENCODINGS = {"": "Detected (UTF-8 or UTF-16)", "cp1252": "Windows-1252 (Western European)"}
_REJECTS = {"spreadsheets": "Spreadsheets", "programs": "Programs"}
_DATE_FORMATS = {
    "YYYY-MM-DD": "Like 2026-11-20",
    "D.M.YYYY": "Like 20.11.2026",
    "D/M/YYYY": "Like 20/11/2026",
    "M/D/YYYY": "Like 11/20/2026",
}
_DECIMAL_MARKS = {"point": "Point, as in 1234.5", "comma": "Comma, as in 1234,5"}


_RULES = {
    "blank": "Empty",
    "format": "Wrong format",
    "invalid_characters": "Characters that are not allowed",
    "out_of_range": "Too small or too large",
    "too_long": "Too long",
    "type": "Wrong type",
    "unknown_field": "No field has this key",
    "unknown_value": "Not an allowed value",
}
"""What the rules of violations are called."""


class ListNotChecked(RecipientFieldsError):
    """The list is not checked, because the check exceeds a limit of the console."""


@frozen
class RecipientListCheck(Page):
    """`/console/o/{organization_id}/fields/check`."""

    open_recipients: OpenRecipients
    max_seconds: float = 15.0
    """CPU time of one check. 10 MiB of 20 columns take 2 s if they are valid."""
    max_rejects_size: int = 32 * 1024 * 1024
    """Bytes of a download. The rejects are in memory until they are sent."""
    _checks: OneAtATime = field(factory=lambda: OneAtATime(_BUSY), init=False)
    is_for_viewers = True
    max_body_size = MAX_FORM_SIZE

    def on_get(self, req: Request, resp: Response) -> None:
        """Show the form."""
        self._send(req, resp, visit(req).form)

    def on_continue(self, req: Request, resp: Response) -> None:
        """Show the form with the options of an ended session, and ask for the file."""
        errors = FormErrors((FormError("list", "List", "The file was not kept. Choose it again."),))
        self._send(req, resp, visit(req).form, errors=errors)

    def on_post(self, req: Request, resp: Response) -> None:
        """Show the report of the uploaded list, or send its rejects as a file."""
        form = _with_proposal(visit(req).form)
        with_rejects = form.text("action") == "rejects"
        try:
            result = self._check(req, form, with_rejects=with_rejects)
        except (UnreadableFile, ListNotChecked) as error:
            errors = FormErrors((FormError("list", "List", str(error)),))
            self._send(req, resp, form, errors=errors)
            return
        if with_rejects and result.report.invalid:
            _send_rejects(resp, result)
        else:
            self._send(req, resp, form, result=result)

    def _check(self, req: Request, form: Form, *, with_rejects: bool) -> _Result:
        file = form.file("list")
        if not file.content:
            raise ListNotChecked("Choose a file that is not empty.")
        is_json_lines = FileFormat.of(file.name) is FileFormat.JSON_LINES
        chosen = _options(form, self._integrations(req))
        options = evolve(
            chosen,
            formats=_formats(form),
            additional=chosen.additional or not is_json_lines,
        )
        if options.integration is not None and is_json_lines:
            raise ListNotChecked("Only a CSV file can have ESP names. Choose keys of fields.")
        with self._checks.working():
            names = self.core.content.read_codes(visit(req).organization.id).names
            return self._check_list(form, file, names, options, with_rejects=with_rejects)

    def _check_list(
        self,
        form: Form,
        file: UploadedFile,
        names: EspNames,
        options: ListOptions,
        *,
        with_rejects: bool,
    ) -> _Result:
        """Check the list. Raises: UnreadableFile; ListNotChecked if it exceeds a limit."""
        name = to_line(file.name[-_MAX_NAME_LENGTH:], max_length=_MAX_NAME_LENGTH)
        end = thread_time() + self.max_seconds
        rejects = io.BytesIO()

        def require_limits() -> None:
            if thread_time() > end:
                raise ListNotChecked(
                    f"The check takes longer than {self.max_seconds:g} s of CPU time."
                    f" {_USE_COMMAND}"
                )
            if rejects.tell() > self.max_rejects_size:
                raise ListNotChecked(f"The rejects are too large. {_USE_COMMAND}")

        content = io.BytesIO(file.content)
        with self.open_recipients(content, name, _file_options(form)) as reader:
            recipients = RecipientList.of(reader, names, options)
            if not recipients.has_fields:
                raise ListNotChecked(" ".join(recipients.notes))
            with recipients.reader.open_writer(rejects, rejects=True) as writer:
                report = recipients.check(
                    rejects=writer if with_rejects else None, on_row=require_limits
                )
        return _Result(name, report, rejects.getvalue(), recipients.notes)

    def _title(self, integration: Integration) -> str:
        return f"{self.core.profiles.title(integration.esp)} names of {integration.name}"

    def _integrations(self, req: Request) -> Sequence[Integration]:
        return self.core.integrations.list_integrations(visit(req).organization.id)

    def _send(
        self,
        req: Request,
        resp: Response,
        form: Form,
        *,
        result: _Result | None = None,
        errors: FormErrors = NO_ERRORS,
    ) -> None:
        integrations = self._integrations(req)
        self.pages.send(
            req,
            resp,
            "fields/check.html",
            status=errors.status,
            options=_options(form, integrations),
            file_options=_file_options(form),
            decimal=form.text("decimal") or "point",
            date_format=form.text("date_format"),
            words={"true": form.text("true") or "true", "false": form.text("false") or "false"},
            integrations={each.id: self._title(each) for each in integrations},
            encodings=_ENCODINGS,
            decimal_marks=_DECIMAL_MARKS,
            date_formats=_DATE_FORMATS,
            rejects=_REJECTS,
            max_size=MAX_FILE_SIZE,
            result=result,
            errors=errors,
        )


@frozen
class _Result:
    """The report of a list, and the file of its rejects if it is requested."""

    name: str
    report: CheckReport
    rejects: bytes
    notes: Sequence[str]
    """Sentences about the columns that are not fields."""

    def table(self) -> Iterator[tuple[str, str, str]]:
        """Yield the field, the reason in words and the number of each kind of violation."""
        for key, rule, number in self.report.table():
            yield key or "Row", _RULES.get(rule, rule.replace("_", " ").capitalize()), number

    @property
    def proposal(self) -> tuple[str, str] | None:
        """The value of the button that checks again with detected formats, and its text."""
        inputs: dict[str, str] = {}
        words: list[str] = []
        if self.report.hints.decimal_comma:
            inputs["decimal"] = "comma"
            words.append("decimal commas")
        formats = [each for each in self.report.hints.date_formats if each in _DATE_FORMATS]
        if formats:
            inputs["date_format"] = formats[0]
            words.append(f"dates {_DATE_FORMATS[formats[0]].lower()}")
        return (urlencode(inputs), f"Check with {' and '.join(words)}") if inputs else None


def _with_proposal(form: Form) -> Form:
    """Return the form with the formats of the pressed button, if it is one."""
    proposal = decode_form(form.text("proposal"))
    return evolve(form, inputs={**form.inputs, **proposal.inputs})


def _options(form: Form, integrations: Sequence[Integration]) -> ListOptions:
    """Return the options of a form. Unknown values count as not set."""
    ids: Mapping[str, int] = {str(each.id): each.id for each in integrations}
    return ListOptions(
        integration=ids.get(form.text("integration")),
        additional=form.text("additional") == "true",
    )


def _file_options(form: Form) -> FileOptions:
    """Return how the file of a form is read. Unknown values count as not set."""
    encoding = form.text("encoding")
    return FileOptions(
        encoding=encoding if encoding in _ENCODINGS and encoding else None,
        spreadsheet_safe=form.text("rejects") != "programs",
    )


def _formats(form: Form) -> TextFormats:
    """Return the formats of a form. Raises: ListNotChecked if a word is for true and false."""
    date_format = form.text("date_format")
    try:
        return TextFormats(
            decimal_mark="," if form.text("decimal") == "comma" else ".",
            date_format=date_format if date_format in _DATE_FORMATS else next(iter(_DATE_FORMATS)),
            true=_words(form.text("true")) or ("true",),
            false=_words(form.text("false")) or ("false",),
        )
    except InvalidInput as error:
        raise ListNotChecked(error.violations[0].message) from None


def _words(text: str) -> tuple[str, ...]:
    return tuple(word.strip() for word in text.split(",") if word.strip())


def _send_rejects(resp: Response, result: _Result) -> None:
    is_json_lines = FileFormat.of(result.name) is FileFormat.JSON_LINES
    kind, suffix = ("application/jsonl", "jsonl") if is_json_lines else ("text/csv", "csv")
    resp.content_type = f"{kind}; charset=utf-8"
    resp.downloadable_as = f"rejects.{suffix}"
    resp.data = result.rejects
