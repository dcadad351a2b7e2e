"""The top of the command line: its groups, its storage, its errors."""

from __future__ import annotations

import logging
import os

import click
from setproctitle import setproctitle

from recipient_fields.domain import RecipientFieldsError, StorageNotFound, closest_match

from ..composition import VARIABLE_PREFIX, credential_variables, migrate_storage
from .backup import backup
from .copying import copy
from .esp import esp
from .export import export
from .fields import fields
from .groups import STORAGE, CommandGroup
from .integrations import integrations
from .keys import keys
from .openapi import openapi
from .options import option_variables
from .organizations import organizations
from .output import note, printable
from .serve import serve

_TESTS = f"{VARIABLE_PREFIX}TEST_"
"""What the suite reads begins so."""


_FIRST_STEPS = (
    "Check the path, or create the file with `recipient-fields organizations create NAME`"
    " or, with demonstration data, `recipient-fields serve --demo`."
)


class _Commands(CommandGroup):
    """Commands whose errors are one clear line and exit code 1."""

    def invoke(self, ctx: click.Context) -> object:
        try:
            return super().invoke(ctx)
        except StorageNotFound as error:
            raise click.ClickException(printable(f"{error} {_FIRST_STEPS}")) from error
        except RecipientFieldsError as error:
            raise click.ClickException(printable(" ".join(str(error).split()))) from error


@click.group(
    cls=_Commands,
    params=[STORAGE],
    context_settings={"help_option_names": ["-h", "--help"]},
)
@click.version_option(package_name="recipient-fields")
@click.pass_context
def main(ctx: click.Context) -> None:
    """Keep the recipient fields of many organizations.

    Every option can also be set in the environment, as RECIPIENT_FIELDS_ and its name:
    RECIPIENT_FIELDS_STORAGE, RECIPIENT_FIELDS_LISTEN.
    """
    # A storage URL on the command line can hold a password; the process list must not show it.
    setproctitle(f"recipient-fields {ctx.invoked_subcommand}")
    # A command reports its errors itself. Without any handler, Python would print what the driver
    # logs; `serve` has a log that shows it.
    logging.getLogger("psycopg").addHandler(logging.NullHandler())
    _tell_misspelt_variables()


@main.command()
@click.pass_obj
def migrate(storage: str) -> None:
    """Bring the storage's schema up to date."""
    migrate_storage(storage)
    click.echo("The storage is up to date.", err=True)


main.add_command(serve)
main.add_command(organizations)
main.add_command(keys)
main.add_command(fields)
main.add_command(integrations)
main.add_command(esp)
main.add_command(export)
main.add_command(openapi)
main.add_command(copy)
main.add_command(backup)


def _tell_misspelt_variables() -> None:
    """Name each variable that nobody reads though it looks like ours, and never its value."""
    known = {
        name.removeprefix(VARIABLE_PREFIX)
        for name in (*option_variables(main), *credential_variables())
    }
    settings = [name.lower() for name in sorted(known)]
    for variable in sorted(os.environ):
        name = variable.removeprefix(VARIABLE_PREFIX)
        if (
            variable.startswith(VARIABLE_PREFIX)
            and not variable.startswith(_TESTS)
            and name not in known
        ):
            # Some put the command before the option: SERVE_LISTEN.
            meant = closest_match(name, settings) or closest_match(name.partition("_")[2], settings)
            hint = "" if meant is None else f" Did you mean {VARIABLE_PREFIX}{meant.upper()}?"
            note(f"Warning: {variable} names no setting.{hint}")
