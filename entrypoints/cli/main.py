"""The top of the command line: its commands."""

from __future__ import annotations

import logging

import click
from setproctitle import setproctitle

from .commands import CommandGroup, LazyCommand

_COMMANDS = (
    LazyCommand("migrate", ".service.storages:migrate", "Update the storage's schema."),
    LazyCommand("serve", ".service.serve:serve", "Serve the HTTP API until SIGTERM or SIGINT."),
    LazyCommand(
        "organizations",
        ".accounts.organizations:organizations",
        "Create, list, rename and delete organizations.",
    ),
    LazyCommand("keys", ".accounts.keys:keys", "Create, list, revoke and rotate API keys."),
    LazyCommand(
        "administrators",
        ".accounts.administrators:administrators",
        "Invite, list and revoke the administrators of the console.",
    ),
    LazyCommand(
        "fields",
        ".fields.fields:fields",
        "List and show an organization's fields; create, update, delete and restore manual ones.",
    ),
    LazyCommand(
        "history",
        ".fields.history:history",
        "List the changes of an organization's fields, and prune old ones.",
    ),
    LazyCommand(
        "check",
        ".check:check_repository",
        "Check the documents of fields and the content that `recipient-fields.toml` names.",
    ),
    LazyCommand(
        "plan",
        ".fields.plans:plan",
        "Show how a document of fields would change the API-managed fields.",
    ),
    LazyCommand(
        "apply",
        ".fields.plans:apply",
        "Apply a document of fields, or a plan, to the API-managed fields.",
    ),
    LazyCommand(
        "recipients",
        ".recipients.recipients:recipients",
        "Check recipients' data against the fields, describe it for programs, and propose fields.",
    ),
    LazyCommand(
        "integrations",
        ".esp.integrations:integrations",
        "Connect an organization to email service providers, and sync their fields.",
    ),
    LazyCommand(
        "secrets",
        ".esp.connections:secrets",
        "Create and rotate the key that encrypts the credentials of integrations.",
    ),
    LazyCommand(
        "esp",
        ".esp.dialects:esp",
        "List the supported email service providers, and derive insertion codes for them.",
    ),
    LazyCommand(
        "conditions",
        ".conditions:conditions",
        "Check conditions on fields, compile them for ESPs, and explain them.",
    ),
    LazyCommand(
        "content",
        ".content:content",
        "Check content with references to fields, export it for ESPs, and preview it.",
    ),
    LazyCommand(
        "convert",
        ".convert:convert_command",
        "Convert templates of one ESP for another one, or to portable content.",
    ),
    LazyCommand("openapi", ".service.serve:openapi", "Print the OpenAPI document of the HTTP API."),
    LazyCommand(
        "doctor",
        ".service.doctor:doctor",
        "Check the deployment, and print what to do about each problem.",
    ),
    LazyCommand(
        "copy", ".service.storages:copy", "Copy everything from the storage to another, empty one."
    ),
    LazyCommand(
        "backup", ".service.storages:backup", "Write a copy of the SQLite storage to FILE."
    ),
)


@click.group(
    cls=CommandGroup,
    commands=_COMMANDS,
    context_settings={"help_option_names": ["-h", "--help"], "show_default": True},
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
