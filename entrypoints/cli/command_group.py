"""Commands and their groups, and what all of them have: `--storage` and the check of variables."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from typing import Any

import click
from click.core import ParameterSource

from recipient_fields.domain import (
    AdministratorNotFound,
    ApiKeyNotFound,
    CatalogTooLarge,
    FieldNotFound,
)
from recipient_fields.domain.esp import IntegrationNotFound

from ..service.selection import shown_storage
from .options import setting_option
from .output import note, one_line
from .target_options import selects_service
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

_LISTS: Mapping[type[Exception], str] = {
    FieldNotFound: "`recipient-fields fields list` shows their ids and keys.",
    IntegrationNotFound: "`recipient-fields integrations list` shows their ids.",
    ApiKeyNotFound: "`recipient-fields keys list` shows their ids.",
    AdministratorNotFound: "`recipient-fields administrators list` shows their email addresses.",
}
"""The command that lists what exists, for errors about something that does not."""


class Command(click.Command):
    """A command for a storage.

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
        if self.creates_storage:
            require_known_variables(ctx)
        if self.changes_storage and not ctx.params.get("as_json"):
            ctx.invoke(_print_storage, ctx)  # With usage errors as those of the command.
        try:
            return super().invoke(ctx)
        except CatalogTooLarge as error:
            raise click.ClickException(f"{error} {larger_catalogs(ctx)}") from error
        except tuple(_LISTS) as error:
            advice = next(each for kind, each in _LISTS.items() if isinstance(error, kind))
            raise click.ClickException(f"{error} {advice}") from error


def larger_catalogs(ctx: click.Context) -> str:
    """Return how to permit a larger list of an organization's fields."""
    if selects_service(ctx):
        return "The operator of the service can permit more with `serve --catalog-size`."
    return "To permit more, add --catalog-size, and use the same value for `serve`."


def _print_storage(ctx: click.Context) -> None:
    if not selects_service(ctx):
        note(one_line(f"Storage: {shown_storage(ctx.obj)}"))


class CommandGroup(click.Group):
    """A group whose commands have the option `--storage`.

    Its help shows the first paragraph of each command's help, which click would cut to one line.
    """

    command_class: type[click.Command] | None = Command

    def add_command(self, cmd: click.Command, name: str | None = None) -> None:
        """Add the command to the group."""
        cmd.params.append(STORAGE)
        cmd.short_help = inspect.cleandoc(cmd.help or "").partition("\n\n")[0]
        super().add_command(cmd, name)
