"""Where the value of an option is from, and so whether `--url` applies."""

from __future__ import annotations

import click
from click.core import ParameterSource

from ..service.settings import variable_of


def selects_service(ctx: click.Context) -> bool:
    """Return whether `--url` applies. The command line takes precedence over variables."""
    for source in (ParameterSource.COMMANDLINE, ParameterSource.ENVIRONMENT):
        has_url = _is_set(ctx, "url", source)
        others = [name for name in ("storage", "organization") if _is_set(ctx, name, source)]
        if has_url and others:
            raise click.UsageError(
                f"--url ({variable_of('url')}) can't be combined with --{others[0]}"
                f" ({variable_of(others[0])})."
            )
        if has_url or others:
            return has_url
    return False


def is_on_command_line(ctx: click.Context, name: str) -> bool:
    """Return whether the command line has the option, after the command or before it."""
    return _is_set(ctx, name, ParameterSource.COMMANDLINE)


def _is_set(ctx: click.Context | None, name: str, source: ParameterSource) -> bool:
    """Return whether the option of the command, or of a group before it, is from this source."""
    if ctx is None:
        return False
    return ctx.get_parameter_source(name) is source or _is_set(ctx.parent, name, source)
