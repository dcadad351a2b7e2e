"""`recipient-fields serve`."""

from __future__ import annotations

import logging
import re

import click

from recipient_fields.application import DEFAULT_FIELD_LIMIT

from ..composition import Core, migrate_storage
from ..demo import create_demonstration, curl_commands
from ..http.app import create_app
from ..http.readiness import TimedCheck
from ..http.server import Server, authority
from .options import opened, option
from .output import note

_ADDRESS = re.compile(r"(?:\[([^\]]+)\]|([^:]+)):([0-9]{1,5})")


class Address(click.ParamType[tuple[str, int]]):
    """`HOST:PORT`; an IPv6 host stands in brackets."""

    name = "host:port"

    def convert(
        self,
        value: str | tuple[str, int],
        param: click.Parameter | None,
        ctx: click.Context | None,
    ) -> tuple[str, int]:
        """Host and port; a usage error where the text names none."""
        if isinstance(value, tuple):
            return value
        match = _ADDRESS.fullmatch(value)
        if match is None or int(match[3]) > 65_535:
            self.fail("Write HOST:PORT, like 127.0.0.1:8080 or [::1]:8080.", param, ctx)
        return match[1] or match[2], int(match[3])


@click.command()
@option(
    "--listen",
    type=Address(),
    default="127.0.0.1:8080",
    show_default=True,
    help="The address to answer at; port 0 takes a free one.",
)
@option(
    "--threads",
    type=click.IntRange(1, 64),
    default=4,
    show_default=True,
    help="How many requests are worked on at once.",
)
@option(
    "--prepare/--no-prepare",
    default=True,
    help="Prepare statements on PostgreSQL; not behind PgBouncer in transaction mode.",
)
@option(
    "--field-limit",
    type=click.IntRange(0),
    default=DEFAULT_FIELD_LIMIT,
    show_default=True,
    help="How many API-managed fields an organization may have.",
)
@option("--migrate", is_flag=True, help="Bring the storage's schema up to date first.")
@option("--demo", is_flag=True, help="Fill an empty storage with demonstration data.")
@click.pass_obj
def serve(
    storage: str,
    listen: tuple[str, int],
    threads: int,
    field_limit: int,
    *,
    prepare: bool,
    migrate: bool,
    demo: bool,
) -> None:
    """Answer HTTP requests until SIGTERM or SIGINT."""
    logging.basicConfig(level=logging.WARNING, format="%(asctime)s %(levelname)s %(message)s")
    if migrate:
        migrate_storage(storage)
    with opened(storage, threads=threads, prepare=prepare, field_limit=field_limit) as core:
        app = create_app(core.fields, core.validator, TimedCheck(core.storage.check))
        host, port = listen
        try:
            server = Server(app, host, port, threads=threads)
        except OSError as error:
            reason = str(error.strerror).partition(" (")[0]  # create_server repeats the address.
            message = f"Can't listen on {authority(host, port)}: {reason}. Choose with --listen."
            raise click.ClickException(message) from error
        note(f"Recipient Fields answers at {server.url}")
        if demo:
            _demonstrate(core, server.url)
        server.run()


def _demonstrate(core: Core, url: str) -> None:
    key = create_demonstration(core)
    if key is None:
        note("The storage has data already; it was kept, and no demonstration data was added.")
        note("`recipient-fields organizations list` shows the ids of the organizations, and")
        note("`recipient-fields keys create --organization ID --name NAME` makes a key.")
        return
    note(f"The API key, shown this once: {key.reveal()}")
    note("Paste these; they are answered 200, 201 and 403:")
    for command in curl_commands(url, key):
        note(f"\n{command}")
