"""Groups of commands, and the option `--storage` of every command."""

from __future__ import annotations

import inspect

import click
from click.core import ParameterSource

from .options import setting_option


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


class CommandGroup(click.Group):
    """A group whose commands have the option `--storage`.

    Its help shows the first paragraph of each command's help, which click would cut to one line.
    """

    def add_command(self, cmd: click.Command, name: str | None = None) -> None:
        """Add the command to the group."""
        cmd.params.append(STORAGE)
        cmd.short_help = inspect.cleandoc(cmd.help or "").partition("\n\n")[0]
        super().add_command(cmd, name)
