"""Commands whose modules are imported when they are used."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import Any

import click


class LazyCommand(click.Command):
    """A command that is imported when it is used, from a place such as `.fields.codes:codes`.

    `--help` of its group shows the `summary` without the import. It is the first paragraph of the
    help of the command.
    """

    def __init__(self, name: str, place: str, summary: str) -> None:
        super().__init__(name, short_help=summary)
        self._place = place

    def load(self) -> click.Command:
        """Import the module, and return the command."""
        module, _, attribute = self._place.partition(":")
        command: click.Command = getattr(import_module(module, __package__), attribute)
        return command

    def make_context(
        self,
        info_name: str | None,
        args: list[str],
        parent: click.Context | None = None,
        **extra: Any,
    ) -> click.Context:
        """Return the context of the command itself, which click then invokes."""
        return self.load().make_context(info_name, args, parent, **extra)


def commands_of(group: click.Group) -> Mapping[str, click.Command]:
    """Return all commands of the group by name, also those of modules that are not imported."""
    return {
        name: each.load() if isinstance(each, LazyCommand) else each
        for name, each in group.commands.items()
    }
