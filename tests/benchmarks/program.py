"""The command line of the benchmarks."""

from __future__ import annotations

import os
import platform
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import click
from attrs import evolve

from ..support.postgres import PostgresServer
from .bodies import bodies
from .clients import bundled, usual_client
from .goals import goals
from .growth import growth
from .hosts import hosts
from .measuring import Bench
from .processes import processes
from .start import start
from .writers import writers

PARTS = {part.__name__: part for part in (goals, hosts, processes, writers, start, growth, bodies)}


@click.command()
@click.option("--only", type=click.Choice(list(PARTS)), multiple=True, help="Leave out the others.")
@click.option("--quick", is_flag=True, help="Ask every question once, and judge no answer's time.")
@click.option("--write", is_flag=True, help="Write the figures into docs/performance.md.")
@click.option("--rounds", default=9, show_default=True, type=click.IntRange(1))
@click.option("--seconds", default=1.0, show_default=True, help="Of one run.")
@click.option("--postgres", metavar="URL", help="A server to make databases on; else one is begun.")
def main(
    only: Sequence[str], *, quick: bool, write: bool, rounds: int, seconds: float, postgres: str
) -> None:
    """Measure the service against what the same host does with constants."""
    if quick and write:
        raise click.UsageError("What is measured quickly is not worth writing down.")
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
                largest=10_000,
            )
        for name in only or PARTS:
            report = PARTS[name](bench)
            report = evolve(report, text=f"{report.text}\n\n{_conditions(bench)}")
            click.echo(f"\n{name}\n\n{report.text}")
            if write:
                report.write(name)


@contextmanager
def _server(given: str | None) -> Iterator[str]:
    if given:
        yield given
        return
    server = PostgresServer.create()
    try:
        yield server.url()
    finally:
        server.remove()


def _conditions(bench: Bench) -> str:
    return (
        f"Python {platform.python_version()}, {os.cpu_count()} cores shared with PostgreSQL and the"
        f" client ({bench.client.__name__}); medians of {bench.rounds} rounds of"
        f" {bench.seconds:g} s."
    )
