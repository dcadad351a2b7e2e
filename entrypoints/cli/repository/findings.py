"""The findings in files: how they are printed, and baselines of those that stay."""

from __future__ import annotations

import os
import stat
from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from pathlib import Path

import click
from attrs import asdict, field, frozen

from recipient_fields.application import InvalidDocument, NotJson
from recipient_fields.application.documents.conversion import parse_document
from recipient_fields.application.documents.strict_json import parse_json, render_json

from ..output import complete_outputs, one_line, print_line


@frozen(kw_only=True)
class Finding:
    """What is wrong at a place of a file: an error, or a note."""

    file: str
    line: int = 1
    column: int = 1
    is_error: bool = True
    code: str
    message: str

    def __str__(self) -> str:
        kind = "error" if self.is_error else "note"
        return f"{self.file}:{self.line}:{self.column}: {kind}: {self.message} [{self.code}]"

    def render(self) -> dict[str, object]:
        """Return the members of the finding in a JSON document."""
        members = asdict(self)
        level = "error" if members.pop("is_error") else "note"
        return {**members, "level": level}


def print_findings(findings: Iterable[Finding], *, for_github: bool) -> None:
    """Print one line per finding, and for GitHub also one workflow command.

    GitHub shows ten annotations per step, and the lines in the log of the step.
    """
    for each in findings:
        print_line(one_line(str(each)))
        if for_github:
            print_line(_workflow_command(each))


def _workflow_command(finding: Finding) -> str:
    """Return the command, escaped as GitHub's package `@actions/core` does."""
    command = "error" if finding.is_error else "notice"
    members = {
        "file": finding.file,
        "line": finding.line,
        "col": finding.column,
        "title": f"recipient-fields {finding.code}",
    }
    properties = ",".join(
        f"{name}={_escaped(str(value)).replace(':', '%3A').replace(',', '%2C')}"
        for name, value in members.items()
    )
    return f"::{command} {properties}::{_escaped(finding.message)}"


def _escaped(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


@frozen(kw_only=True)
class _Known:
    """Findings of a file that stay: their lines can change, so they are counted."""

    file: str
    code: str
    message: str
    count: int


@frozen
class _Document:
    findings: Sequence[_Known]


@frozen
class Baseline:
    """The findings that stay, in a file. Their paths are relative to its folder."""

    path: str
    _known: Counter[tuple[str, str, str]] = field(factory=Counter)

    @classmethod
    def read(cls, path: str) -> Baseline:
        """Return the baseline in the file. Raises: click.ClickException if it can't be read."""
        try:
            parsed = parse_document(parse_json(Path(path).read_bytes()), _Document)
        except (OSError, NotJson, InvalidDocument) as error:
            raise click.ClickException(
                one_line(f"{path}: {error} Write the baseline with --write-baseline.")
            ) from None
        return cls(path, Counter({(k.file, k.code, k.message): k.count for k in parsed.findings}))

    def without_known(self, findings: Iterable[Finding]) -> list[Finding]:
        """Return the findings that are not in the baseline, or more often than there."""
        left = self._known.copy()
        new: list[Finding] = []
        for each in findings:
            key = self._key(each)
            if left[key] > 0:
                left[key] -= 1
            else:
                new.append(each)
        return new

    def write(self, findings: Iterable[Finding], checked: Collection[str]) -> None:
        """Replace the findings of the checked files, and those of files that are gone.

        Raises: click.ClickException if the file can't be written.
        """
        names = {self._relative(each) for each in checked}
        counts = Counter(map(self._key, findings))
        for key, count in self._known.items():
            if key[0] not in names and not self._is_gone(key[0]):
                counts[key] = count
        known = [
            {"file": file, "code": code, "message": message, "count": count}
            for (file, code, message), count in sorted(counts.items())
        ]
        lines = b",\n".join(map(render_json, known))
        with complete_outputs() as outputs:
            outputs.open(self.path).write(b'{"findings": [\n' + lines + b"\n]}\n")

    def _is_gone(self, file: str) -> bool:
        """Return whether there is no such file. One in a locked folder may exist."""
        try:
            mode = Path(self.path).parent.joinpath(file).stat().st_mode
        except PermissionError:
            return False
        except OSError:
            return True
        return not stat.S_ISREG(mode)

    def _key(self, finding: Finding) -> tuple[str, str, str]:
        return self._relative(finding.file), finding.code, finding.message

    def _relative(self, file: str) -> str:
        return Path(os.path.relpath(file, Path(self.path).parent)).as_posix()
