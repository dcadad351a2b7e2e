"""The top of the command line: its groups, its storage, its errors."""

from __future__ import annotations

import logging

import click
from setproctitle import setproctitle

from recipient_fields.domain import RecipientFieldsError, StorageNotFound, StorageUnavailable

from ..service.selection import migrate_storage
from .accounts.administrators import administrators
from .accounts.keys import keys
from .accounts.organizations import organizations
from .command_group import STORAGE, CommandGroup
from .conditions import conditions
from .content import content
from .esp.dialects import esp
from .esp.integrations import integrations
from .esp.names import names
from .fields.codes import list_codes
from .fields.export import export_fields, print_schema
from .fields.fields import fields
from .fields.history import history
from .fields.plans import apply, plan
from .options import option
from .output import note, printable
from .recipients.recipients import recipients
from .service.backup import backup
from .service.copy import copy
from .service.doctor import doctor
from .service.openapi import openapi
from .service.serve import serve

_FIRST_STEPS = (
    "Check the path, or create the file with `recipient-fields organizations create NAME`"
    " or, with demonstration data, `recipient-fields serve --demo`."
)


class _Commands(CommandGroup):
    """Commands whose errors are one clear line and exit status 1."""

    def invoke(self, ctx: click.Context) -> object:
        try:
            return super().invoke(ctx)
        except StorageNotFound as error:
            raise click.ClickException(printable(f"{error} {_FIRST_STEPS}")) from error
        except RecipientFieldsError as error:
            message = " ".join(str(error).split())
            # Our own messages say what to do; those of a driver have no period.
            if isinstance(error, StorageUnavailable) and not message.endswith("."):
                message += ". `recipient-fields doctor` checks the storage and says what to do."
            raise click.ClickException(printable(message)) from error


@click.group(
    cls=_Commands,
    params=[STORAGE],
    context_settings={"help_option_names": ["-h", "--help"]},
)
@click.version_option(package_name="recipient-fields")
@click.pass_context
def main(ctx: click.Context) -> None:
    """Manage and serve the recipient fields of organizations.

    Each option has an environment variable: RECIPIENT_FIELDS_ and the option's name, such as
    RECIPIENT_FIELDS_STORAGE.
    """
    # A storage URL on the command line can hold a password; the process list must not show it.
    setproctitle(f"recipient-fields {ctx.invoked_subcommand}")
    # A command reports its errors itself. Without any handler, Python would print what the driver
    # logs; `serve` has a log that shows it.
    logging.getLogger("psycopg").addHandler(logging.NullHandler())


@main.command(changes_storage=True)
@option(
    "--distributed",
    is_flag=True,
    help="Also distribute the tables over the workers of Citus, by organization.",
)
@click.pass_obj
def migrate(storage: str, distributed: bool) -> None:  # noqa: FBT001 - click passes it by name
    """Update the storage's schema."""
    migrate_storage(
        storage, distributed=distributed, on_applied=lambda name: note(f"Applied {name}.")
    )
    click.echo("The storage is up to date.", err=True)


main.add_command(serve)
main.add_command(organizations)
main.add_command(keys)
main.add_command(administrators)
fields.add_command(list_codes)
fields.add_command(export_fields)
fields.add_command(print_schema)
integrations.add_command(names)
main.add_command(fields)
main.add_command(history)
main.add_command(plan)
main.add_command(apply)
main.add_command(recipients)
main.add_command(integrations)
main.add_command(esp)
main.add_command(conditions)
main.add_command(content)
main.add_command(openapi)
main.add_command(doctor)
main.add_command(copy)
main.add_command(backup)
