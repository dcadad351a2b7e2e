"""Commands and their groups, and what all of them have: `--storage` and the check of variables."""

from __future__ import annotations

import inspect
from typing import Any

import click
from click.core import ParameterSource

from .options import setting_option
from .output import note, one_line
from .precedence import selects_service
from .variables import require_known_variables, warn_of_unknown_variables


def _choose_storage(ctx: click.Context, parameter: click.Parameter, url: str) -> None:
    """Store the URL as the context's object, which click passes to the command.

    If the option is repeated, the last one applies. Only the outermost command applies the default
    and the variable, so that they don't replace an option before the name of a command.
    """
    is_option = ctx.get_parameter_source(str(parameter.name)) is ParameterSource.COMMANDLINE
    if is_option or ctx.parent is None:
        ctx.obj = url


STORAGE = setting_option("storage", expose_value=False, callback=_choose_storage)
"""The option of every command, so that it works before and after a command's name."""


class Command(click.Command):
    """A command for a storage. Its errors are one clear line and exit status 1.

    `changes_storage`: first print the storage, unless the output is for programs.
    `creates_storage`: require that all variables with our prefix are known, because a misspelled
    one would create another storage. Other commands warn, except one that itself lists these
    variables (`lists_variables`).
    """

    def __init__(
        self,
        *args: Any,
        changes_storage: bool = False,
        creates_storage: bool = False,
        lists_variables: bool = False,
        **kwargs: Any,
    ) -> None:
        super().__init__(*args, **kwargs)
        _add_storage(self)
        self.changes_storage = changes_storage
        self.creates_storage = creates_storage
        self.lists_variables = lists_variables

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Warn of unknown variables first: one can be the cause of a usage error."""
        if not (self.creates_storage or self.lists_variables):
            warn_of_unknown_variables(ctx)
        return super().parse_args(ctx, args)

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command."""
        # Imported here, so that help starts without the errors of all rooms.
        from .failures import reporting_failures

        if self.creates_storage:
            require_known_variables(ctx)
        with reporting_failures(ctx):
            if self.changes_storage and not ctx.params.get("as_json"):
                ctx.invoke(_print_storage, ctx)  # With usage errors as those of the command.
            return super().invoke(ctx)


def _print_storage(ctx: click.Context) -> None:
    from ..service.selection import shown_storage

    if not selects_service(ctx):
        note(one_line(f"Storage: {shown_storage(ctx.obj)}"))


class CommandGroup(click.Group):
    """A group whose commands have the option `--storage`."""

    command_class: type[click.Command] | None = Command

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        _add_storage(self)


def _add_storage(command: click.Command) -> None:
    """Add `--storage`, and for the help of its group a summary that click does not cut."""
    command.params.append(STORAGE)
    command.short_help = inspect.cleandoc(command.help or "").partition("\n\n")[0]
