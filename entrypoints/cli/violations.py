"""Reports of violations in conditions and in content."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import BinaryIO

import click

from recipient_fields.application import NotJson
from recipient_fields.application.documents.strict_json import parse_json
from recipient_fields.application.documents.violations import render_violation
from recipient_fields.application.wording import excerpt, other_places
from recipient_fields.domain import InvalidInput, Violation
from recipient_fields.domain.conditions import LocatedViolation
from recipient_fields.domain.content import ContentWarning
from recipient_fields.domain.esp import UnfoundName, UnnamedField

from .output import note, one_line, print_json
from .proposals import setting_command

_MAX_REPORTED = 100


@contextmanager
def reporting_violations(
    summary: str,
    *,
    file: str | None = None,
    source: str | None = None,
    as_json: bool = False,
) -> Iterator[None]:
    """Report invalid input in the block: one line per violation, and exit status 1.

    With `file`, the name of the file that the violations are in, each line begins with it. With
    `source`, its text, each one is followed by its line. As JSON, all violations are one document
    on standard output.
    """
    try:
        yield
    except InvalidInput as invalid:
        if as_json:
            print_json({"violations": [render_violation(each) for each in invalid.violations]})
            click.get_current_context().exit(1)
        note_violations(invalid, file=file, source=source)
        raise click.ClickException(summary) from None


def note_violations(
    invalid: InvalidInput, *, file: str | None = None, source: str | None = None
) -> None:
    """Print one line per violation, as `reporting_violations` does."""
    lines = [] if source is None else source.split("\n")
    for violation in invalid.violations[:_MAX_REPORTED]:
        _report(violation, file, lines)
    if len(invalid.violations) > _MAX_REPORTED:
        note(f"… and {len(invalid.violations) - _MAX_REPORTED:,} more.")


def name_of(file: BinaryIO) -> str:
    """Return the name of the file on one line."""
    return one_line(str(getattr(file, "name", "<stdin>")))


def parse_json_file(file: BinaryIO) -> object:
    """Return the value of a JSON file. An error names the file."""
    try:
        return parse_json(file.read())
    except NotJson as error:
        raise click.ClickException(f"{name_of(file)}: {error}") from None


def note_warnings(warnings: Iterable[ContentWarning]) -> None:
    """Print each warning about content with its kind, its first place, and some of the others."""
    for warning in warnings:
        note(f"{warning.code.kind.value.capitalize()}: {warning.position}: {warning.message}")
        if isinstance(warning, UnfoundName):
            note(f"    {setting_command(warning.proposal)}")
        if warning.places:
            note(f"    {other_places(warning.places)}")


def _report(violation: Violation, file: str | None, lines: list[str]) -> None:
    """Print the violation, and the line that it is in if there are lines."""
    hint = "" if violation.suggestion is None else f" Did you mean {violation.suggestion}?"
    pointer = str(render_violation(violation)["pointer"])
    place = "".join(f"{each}: " for each in (file, pointer) if each)
    note(one_line(f"{place}{violation.message}{hint}"))
    if isinstance(violation, UnnamedField):
        note(f"    {setting_command(violation.proposal)}")
    if lines and isinstance(violation, LocatedViolation):
        line, column = lines[violation.position.line - 1], violation.position.column
        note(f"    {one_line(excerpt(line.removesuffix(chr(13)), column))}")
