"""The commands for the fields of one organization."""

from __future__ import annotations

import json
from shlex import split
from typing import Any

import pytest
from attrs import frozen

from recipient_fields.application import Core, render_field
from recipient_fields.application.documents.strict_json import render_json
from recipient_fields.domain import OrganizationId, RecipientField

from ...support.command_line import CommandLine, Run


def rendered(field: RecipientField) -> dict[str, Any]:
    document: dict[str, Any] = json.loads(render_json(render_field(field)))
    return document


@frozen
class Commands:
    """Runs commands for an organization."""

    cli: CommandLine
    core: Core
    organization: OrganizationId

    def __call__(self, command: str, *arguments: str, reply: str | None = None) -> Run:
        """Run a command such as `fields list --json`, and type `reply` at a terminal."""
        group, name, *words = split(command)
        organization = ("--organization", self.organization)
        return self.cli(group, name, *organization, *words, *arguments, reply=reply)

    def changed(self, command: str) -> dict[str, Any]:
        """Run a command that creates or changes a field, and return the field that it prints."""
        (only,) = self(f"{command} --json").document().items()
        assert only[0] == "recipient_field"
        return dict(only[1])

    @property
    def stored(self) -> list[dict[str, Any]]:
        """The fields of the organization."""
        return [rendered(each) for each in self.core.fields.list_fields(self.organization).fields]


@pytest.fixture
def commands(cli: CommandLine, core: Core, acme: OrganizationId) -> Commands:
    return Commands(cli, core, acme)
