"""`recipient-fields serve` and `recipient-fields openapi`."""

from __future__ import annotations

import json
from typing import Any

import click
from attrs import evolve, fields_dict

from ...service.selection import migrate_storage, open_core
from ...service.settings import STORED_KEYS, Settings
from ..commands import Command
from ..options import flag, setting_option
from ..output import print_line


@click.command(
    cls=Command,
    creates_storage=True,
    params=[setting_option(name) for name in fields_dict(Settings) if name != "storage"],
)
@flag("--migrate", text="Update the storage's schema before the start.")
@flag("--demo", text="Add demonstration data to an empty storage, and turn the console on.")
@flag(
    "--reset",
    text="With --demo: first delete the demonstration data of earlier starts, and everything that"
    " was added to it.",
)
@click.pass_obj
def serve(storage: str, /, *, migrate: bool, demo: bool, reset: bool, **options: Any) -> None:
    """Serve the HTTP API until SIGTERM or SIGINT."""
    # Imported here, so that other commands start without Falcon and the server.
    from ...server.server import TooFewFiles
    from .process import run

    if reset and not demo:
        raise click.UsageError("--reset requires --demo.")
    passed = {name: value for name, value in options.items() if value is not None}
    settings = Settings(storage=storage, **passed)
    if demo and settings.keys != STORED_KEYS:
        raise click.UsageError(
            f"--demo creates an API key in the storage: use --keys {STORED_KEYS}"
        )
    if demo:
        settings = evolve(settings, console=True)
    settings.require_console_url(settings.listen)
    if migrate:
        migrate_storage(storage)
    try:
        run(settings, demo=demo, reset=reset)
    except TooFewFiles as error:
        raise click.ClickException(str(error)) from error


@click.command(cls=Command)
def openapi() -> None:
    """Print the OpenAPI document of the HTTP API."""
    # Imported here, so that other commands start without Falcon.
    from ...http.app import create_app
    from ...http.openapi.document import document

    core = open_core("memory:")
    routes = create_app(core).routes
    print_line(json.dumps(document(routes, core.profiles), indent=2, ensure_ascii=False))
