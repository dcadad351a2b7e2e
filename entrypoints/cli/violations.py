"""Reports of violations in conditions and in content, with the commands that correct names."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from shlex import quote
from typing import BinaryIO

import click

from recipient_fields.application import NotJson
from recipient_fields.application.documents.strict_json import parse_json
from recipient_fields.application.documents.violations import render_violation
from recipient_fields.application.wording import excerpt, other_places
from recipient_fields.domain import InvalidInput, Violation
from recipient_fields.domain.conditions import LocatedViolation
from recipient_fields.domain.content import ContentWarning, WarningCode, WarningKind
from recipient_fields.domain.esp import NameProposal, RejectedWarning, UnfoundName, UnnamedField
from recipient_fields.domain.suggestions import did_you_mean

from .output import note, one_line, print_json


def setting_command(proposal: NameProposal) -> str:
    """Return a sentence with the command that sets the proposed name."""
    assignment = quote(f"{proposal.key}={proposal.name}")
    return f"To set one: `integrations names {proposal.integration_id} --set {assignment}`."


FINDINGS = 3
"""The exit status if a check finds something."""

_MAX_REPORTED = 100
_OPTION = re.compile(r"\boption `([a-z_]+)`")
_PERMISSION = "Correct the mistakes, or permit them with --allow-mistakes."


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
        else:
            note_violations(invalid, file=file, source=source)
            advice = f" {_PERMISSION}" if all(map(_is_mistake, invalid.violations)) else ""
            note(f"Error: {summary}{advice}")
        click.get_current_context().exit(1)


def note_violations(
    invalid: InvalidInput, *, file: str | None = None, source: str | None = None
) -> None:
    """Print one line per violation, as `reporting_violations` does."""
    lines = [] if source is None else source.split("\n")
    for violation in invalid.violations[:_MAX_REPORTED]:
        _report(violation, file, lines)
    if len(invalid.violations) > _MAX_REPORTED:
        note(f"… and {len(invalid.violations) - _MAX_REPORTED:,} more.")


def note_unlisted(violations: Sequence[Violation]) -> None:
    """Print a warning for each value of a recipient that is not an allowed one."""
    for violation in violations[:_MAX_REPORTED]:
        _report(violation, "Warning", [])
    if violations:
        note("The preview shows what a recipient with these values reads.")


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
        note(f"{_titled(warning.code)}: {warning.position}: {with_dashes(warning.message)}")
        if isinstance(warning, UnfoundName):
            note(f"    {setting_command(warning.proposal)}")
        if warning.places:
            note(f"    {other_places(warning.places)}")


def with_dashes(message: str) -> str:
    """Return a message whose options, such as `sent_by`, are those of commands."""
    return _OPTION.sub(lambda found: f"option `--{found[1].replace('_', '-')}`", message)


def _titled(code: WarningCode) -> str:
    return code.kind.value.capitalize()


def _is_mistake(violation: Violation) -> bool:
    if not isinstance(violation, RejectedWarning):
        return False
    return violation.warning.kind is WarningKind.MISTAKE


def _report(violation: Violation, prefix: str | None, lines: list[str]) -> None:
    """Print the violation after the prefix, and the line that it is in if there are lines."""
    pointer = str(render_violation(violation)["pointer"])
    kind = _titled(violation.warning) if isinstance(violation, RejectedWarning) else None
    place = "".join(f"{each}: " for each in (prefix, pointer, kind) if each)
    note(one_line(f"{place}{violation.message}{did_you_mean(violation.suggestion)}"))
    if isinstance(violation, UnnamedField | RejectedWarning) and violation.proposal is not None:
        note(f"    {setting_command(violation.proposal)}")
    if lines and isinstance(violation, LocatedViolation):
        line, column = lines[violation.position.line - 1], violation.position.column
        note(f"    {one_line(excerpt(line.removesuffix(chr(13)), column))}")
