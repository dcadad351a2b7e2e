"""Environment variables with our prefix that no command reads."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping

import click
from attrs import fields_dict

from recipient_fields.application.environment import FILE_SUFFIX, VARIABLE_PREFIX

from ..service.settings import Settings, variable_of
from .lazy_command import commands_of
from .options import option_variables
from .output import note

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
    from recipient_fields.domain import closest_match

    name = variable.removeprefix(VARIABLE_PREFIX)
    # Some users put the command before the option: SERVE_LISTEN.
    similar = closest_match(name, names) or closest_match(name.partition("_")[2], names)
    hint = "" if similar is None else f" Did you mean {variable_of(similar)}?"
    return f"{variable} is not a setting.{hint}"
