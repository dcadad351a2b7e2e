"""Tables of stories: a command for an organization, and what it prints or changes.

The sentence of a story is the id of its case.
"""

from __future__ import annotations

import json
from fnmatch import fnmatchcase
from pathlib import Path
from shlex import split
from typing import Any

from attrs import frozen

from recipient_fields.application import Core, render_field
from recipient_fields.application.documents.strict_json import render_json
from recipient_fields.domain import OrganizationId, RecipientField

from ..support.command_line import CommandLine, Run


def rendered(field: RecipientField) -> dict[str, Any]:
    document: dict[str, Any] = json.loads(render_json(render_field(field)))
    return document


@frozen
class Commands:
    """Runs commands for an organization."""

    cli: CommandLine
    core: Core
    organization: OrganizationId

    def __call__(self, command: str, *arguments: str | int | Path, **settings: Any) -> Run:
        """Run a command such as `fields list --json`, with settings as for `CommandLine`."""
        group, name, *words = split(command)
        organization = ("--organization", self.organization)
        return self.cli(group, name, *organization, *words, *arguments, **settings)

    def changed(self, command: str) -> dict[str, Any]:
        """Run a command that creates or changes a field, and return the field that it prints."""
        (only,) = self(f"{command} --json").document().items()
        assert only[0] == "recipient_field"
        return dict(only[1])

    @property
    def stored(self) -> list[dict[str, Any]]:
        """The fields of the organization."""
        return [rendered(each) for each in self.core.fields.list_fields(self.organization).fields]


@frozen
class Story:
    """A command such as `keys revoke 1`, and its outcome, which depends on the table."""

    command: str
    outcome: Any


def assert_refused(run: Run, status: int, message: str) -> None:
    """Check the error message with a pattern. The status is 2 for a usage error, otherwise 1."""
    error = run.usage_error() if status == 2 else run.failure()
    assert fnmatchcase(error, message), error
