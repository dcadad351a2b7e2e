"""The command line of the benchmarks."""

from __future__ import annotations

import os
import platform
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import click
from attrs import evolve

from ..support.postgres import PostgresServer
from .batches import batches
from .bodies import bodies
from .citus import citus
from .clients import bundled, usual_client
from .console import console
from .creations import creations
from .frameworks import frameworks
from .goals import goals
from .growth import growth
from .history import history
from .hosts import hosts
from .measuring import Bench
from .processes import processes
from .recipients import recipients
from .scaling import scaling
from .start import start
from .writers import writers

PARTS = {
    part.__name__: part
    for part in (
        goals,
        history,
        hosts,
        processes,
        writers,
        batches,
        start,
        growth,
        creations,
        bodies,
        console,
        recipients,
        scaling,
        citus,
        frameworks,
    )
}
LONG = {scaling.__name__}
"""Parts that run only with `--quick` or if requested: they require much time and disk."""
NOT_INSTALLED = {citus.__name__, frameworks.__name__}
"""Parts that run only if they are requested, because they require other programs."""

_MAX_CONNECTIONS = 100
"""The default of PostgreSQL. The part `frameworks` runs seven servers at the same time."""


@click.command()
@click.option(
    "--only", type=click.Choice(list(PARTS)), multiple=True, help="Part to run. Repeatable."
)
@click.option(
    "--quick",
    is_flag=True,
    help="Run each part once and briefly, and ignore the goals.",
)
@click.option("--write", is_flag=True, help="Write the figures into the pages.")
@click.option("--rounds", default=9, show_default=True, type=click.IntRange(1))
@click.option("--seconds", default=1.0, show_default=True, help="Seconds per run.")
@click.option(
    "--largest",
    default=10_000,
    show_default=True,
    type=click.IntRange(10),
    help="Maximum number of fields per organization. Some parts also use it for organizations.",
)
@click.option("--postgres", metavar="URL", help="Server for the databases. Default: a new one.")
def main(
    only: Sequence[str],
    *,
    quick: bool,
    write: bool,
    rounds: int,
    seconds: float,
    largest: int,
    postgres: str,
) -> None:
    """Measure the service, and compare it with a server that sends constants."""
    if quick and write:
        raise click.UsageError("--quick is too inaccurate for --write. Use one of them.")
    with _server(postgres) as url:
        if quick:
            bench = Bench(
                postgres=url, client=bundled, seconds=0.1, warming=0, rounds=1, largest=10
            )
        else:
            bench = Bench(
                postgres=url,
                client=usual_client(),
                seconds=seconds,
                warming=0.5,
                rounds=rounds,
                largest=largest,
            )
        omitted = NOT_INSTALLED if quick else NOT_INSTALLED | LONG
        for name in only or [part for part in PARTS if part not in omitted]:
            report = PARTS[name](bench)
            report = evolve(report, text=f"{report.text}\n\n{_conditions(bench, name)}")
            click.echo(f"\n{name}\n\n{report.text}")
            if write:
                report.write(name)


@contextmanager
def _server(url: str | None) -> Iterator[str]:
    if url:
        yield url
        return
    server = PostgresServer.create()
    try:
        server.configure(f"max_connections = {_MAX_CONNECTIONS}\n")
        server.stop()
        server.start()
        yield server.url()
    finally:
        server.remove()


def _conditions(bench: Bench, part: str) -> str:
    machine = f"Python {platform.python_version()}, {os.cpu_count()} cores"
    medians = f"medians of {bench.rounds} rounds" if bench.rounds > 1 else "one round"
    if part in {bodies.__name__, recipients.__name__}:
        return f"{machine}; {medians}."
    if part in {batches.__name__, creations.__name__, start.__name__}:
        return f"{machine} shared with PostgreSQL; {medians}."
    costs = part in {scaling.__name__, citus.__name__}
    client = (bundled if costs else bench.client).__name__
    medians += f" of {bench.seconds:g} s"
    return f"{machine} shared with PostgreSQL and the client ({client}); {medians}."
