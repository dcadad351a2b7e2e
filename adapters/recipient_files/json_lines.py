"""Files of JSON Lines: one JSON object per line."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import BinaryIO, TextIO

from attrs import frozen

from recipient_fields.application import NotJson, TooManyValues
from recipient_fields.application.documents.strict_json import parse_json
from recipient_fields.application.ports.recipients import RecipientWriter, Row
from recipient_fields.domain import Rule, Violation

from .texts import LINE, REASONS, Lines, TextWriter

TEXT = "_text"
"""The member with a rejected line that is not a JSON object."""
_MAX_ROW_VALUES = 10_000
"""Member names and values of a line of JSON, as in the body of a request."""


@frozen
class JsonLinesRecipients:
    """The recipients of a file with one JSON object per line."""

    name: str
    _lines: Lines

    @classmethod
    def open(cls, text: TextIO, name: str) -> JsonLinesRecipients:
        """Return the recipients. No line is read yet."""
        return cls(name, Lines(text, name))

    def __iter__(self) -> Iterator[Row]:
        """Yield the lines that are not blank. Raises: UnreadableFile if a line is too long."""
        for line in self._lines:
            if not line.isspace():
                yield self._row(line.rstrip("\r\n"))
            self._lines.row_length = 0

    def _row(self, line: str) -> Row:
        number = self._lines.number
        try:
            values = parse_json(line.encode(), max_values=_MAX_ROW_VALUES)
        except TooManyValues:
            violation = Violation(Rule.FORMAT, "The line has too many members and values.")
            return Row(number, (line,), violation)
        except NotJson as error:
            place = error.column
            message = str(error) if place is None else f"The line is not JSON: column {place}."
            return Row(number, (line,), Violation(Rule.FORMAT, message))
        if not isinstance(values, dict):
            violation = Violation(Rule.TYPE, "The line must be a JSON object.")
            return Row(number, (line,), violation)
        return Row(number, (line,), document=values)

    def values(self, row: Row) -> Mapping[str, object]:
        """Return the members of the object."""
        return row.document

    @contextmanager
    def open_writer(self, file: BinaryIO, *, rejects: bool) -> Iterator[RecipientWriter]:
        """Return a writer in UTF-8. A reject has members for the line and the reasons."""
        yield TextWriter(file, _render_json_reject if rejects else _render_json_line)


def _render_json_line(row: Row, _reasons: Sequence[str]) -> str:
    return f"{row.source[0]}\n"


def _render_json_reject(row: Row, reasons: Sequence[str]) -> str:
    """Return the recipient with its line and the reasons. A line that is no recipient is a text."""
    recipient = {TEXT: row.source[0]} if row.violation else row.document
    document = {**recipient, LINE: row.line, REASONS: reasons}
    return json.dumps(document, ensure_ascii=False) + "\n"
