"""The audit log of the commands that create or end API keys, or delete organizations."""

from __future__ import annotations

import click

from ..server.log import audit_file
from .options import Option, option


def _keep(ctx: click.Context, _parameter: click.Parameter, path: str | None) -> None:
    """Append the audit lines of the context's commands to the file."""
    if path is None:
        return
    try:
        ctx.with_resource(audit_file(path))
    except OSError as error:
        raise click.ClickException(
            f"Can't write the audit log {path}: {error.strerror}."
        ) from error


audit_log_option: Option = option(
    "--audit-log",
    type=click.Path(dir_okay=False),
    metavar="FILE",
    expose_value=False,
    callback=_keep,
    help="Append one line to this file for each key that is created, revoked or rotated, and for"
    " each organization that is deleted.",
)
