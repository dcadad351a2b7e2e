"""Commands and their groups, `--storage`, and the environment variables that commands read."""

from __future__ import annotations

import inspect
import os
import re
from collections.abc import Iterator, Mapping
from importlib import import_module
from typing import Any

import click
from attrs import fields_dict
from click.core import ParameterSource

from recipient_fields.application.environment import FILE_SUFFIX, VARIABLE_PREFIX

from ..service.settings import Settings, variable_of
from .options import option_variables, selects_service, setting_option
from .output import is_json, note, one_line


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


API_KEY_VARIABLE = f"{VARIABLE_PREFIX}API_KEY"
"""There is no option for the API key, because all users of a machine can read command lines."""

_FORMER = frozenset(map(variable_of, ("server", "prepare", "no-prepare", "any-cpu")))
"""Variables that an earlier version read."""

_OF_KUBERNETES = re.compile(
    r"(\w+_)?(SERVICE_HOST|SERVICE_PORT(_\w+)?|PORT_[0-9]+_(TCP|UDP|SCTP)(_(PROTO|PORT|ADDR))?)"
)
"""What Kubernetes sets in each pod for a service whose name begins with `recipient-fields`."""
_PORT_OF_KUBERNETES = re.compile(r"(tcp|udp|sctp)://.*")
"""The value of `RECIPIENT_FIELDS_PORT` that Kubernetes sets. Users would set a number."""


def warn_of_unknown_variables(ctx: click.Context) -> None:
    """Print a warning for each unknown variable. Don't print its value."""
    for message in unknown_variables(ctx, os.environ).values():
        note(f"Warning: {message}")


def require_known_variables(ctx: click.Context) -> None:
    """Reject unknown variables, with a warning for those that an earlier version read.

    Raises: click.ClickException.
    """
    unknown = unknown_variables(ctx, os.environ)
    for variable in unknown.keys() & _FORMER:
        note(f"Warning: {unknown.pop(variable)}")
    if unknown:
        raise click.ClickException(
            f"{' '.join(unknown.values())} Correct or remove it: with a misspelled setting, this"
            " command could use another storage."
        )


def unknown_variables(ctx: click.Context, environment: Mapping[str, str]) -> dict[str, str]:
    """Return a message for each variable with our prefix that is no setting."""
    # First compare with what is imported, because most commands find no other variable.
    candidates = {*_ours(environment)} - {*map(variable_of, fields_dict(Settings))}
    candidates -= {variable for each in _path(ctx) for variable in option_variables(each)}
    if not candidates:
        return {}
    known = _all_variables(ctx.find_root().command)
    names = [variable.removeprefix(VARIABLE_PREFIX).lower() for variable in sorted(known)]
    return {each: _message(each, names) for each in sorted(candidates - known)}


def _path(ctx: click.Context) -> Iterator[click.Command]:
    """Yield the command of the context and the groups before it."""
    yield ctx.command
    if ctx.parent is not None:
        yield from _path(ctx.parent)


def _all_variables(main: click.Command) -> set[str]:
    from ..service.selection import credential_variables

    secrets = {API_KEY_VARIABLE, *credential_variables()}
    files = {f"{variable}{FILE_SUFFIX}" for variable in secrets}
    return {*secrets, *files, *_below(main)}


def _below(command: click.Command) -> Iterator[str]:
    """Yield the variables of the options of the command and of its subcommands."""
    yield from option_variables(command)
    if isinstance(command, click.Group):
        for each in commands_of(command).values():
            yield from _below(each)


def _ours(environment: Mapping[str, str]) -> Iterator[str]:
    """Yield the variables with our prefix, without those that Kubernetes sets."""
    for variable, value in environment.items():
        if not variable.startswith(VARIABLE_PREFIX):
            continue
        name = variable.removeprefix(VARIABLE_PREFIX)
        is_port = name == "PORT" or name.endswith("_PORT")
        is_foreign = _OF_KUBERNETES.fullmatch(name) or (
            is_port and _PORT_OF_KUBERNETES.fullmatch(value)
        )
        if not is_foreign:
            yield variable


def _message(variable: str, names: list[str]) -> str:
    if variable in _FORMER:
        return f"{variable} has no effect any more: remove it."
    from recipient_fields.domain.suggestions import closest_match, did_you_mean

    name = variable.removeprefix(VARIABLE_PREFIX)
    # Some users put the command before the option: SERVE_LISTEN.
    similar = closest_match(name, names) or closest_match(name.partition("_")[2], names)
    hint = did_you_mean(None if similar is None else variable_of(similar))
    return f"{variable} is not a setting.{hint}"


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
            if self.changes_storage and not is_json():
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
