"""One batch of creations, compared with as many single requests."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from functools import partial
from http import HTTPStatus
from http.client import HTTPConnection
from statistics import median
from time import perf_counter
from urllib.parse import urlsplit

from attrs import evolve, frozen

from recipient_fields.domain import MAX_BATCH_OPERATIONS

from ..support.postgres import PostgresServer
from .data import Database
from .measuring import Bench
from .reports import Report, rate, table
from .servers import Server, service
from .traffic import BATCHES, FIELDS

MAX_SECONDS = 0.5
MIN_RATIO = 20


@frozen
class _Post:
    """A POST, and the status of its response."""

    path: str
    document: object
    status: HTTPStatus


def batches(bench: Bench) -> Report:
    """Measure the creation of fields by one request and by many. Each commit waits for the disk."""
    count = min(bench.largest, MAX_BATCH_OPERATIONS)
    with (
        _durable(bench) as durable,
        durable.database() as database,
        service(database.url) as server,
    ):
        runs = [
            partial(_seconds, database, server, posts)
            for posts in ([_batch(count)], [_creation(number) for number in range(count)])
        ]
        for run in runs:
            run()
        rounds = bench.rounds_of(*runs)
    together, singly = (median(seconds) for seconds in zip(*rounds, strict=True))
    ratio = median(singly / together for together, singly in rounds)
    goal = f"≤ {MAX_SECONDS} {'✓' if together <= MAX_SECONDS else '✗'}"
    rows = [
        ("one batch", f"{together:.3f}", goal, rate(count / together)),
        ("single requests", f"{singly:.3f}", "", rate(count / singly)),
    ]
    return Report(
        f"{table((f'{count:,} creations', 's', 'goal', 'Fields/s'), rows)}\n\n"
        f"Ratio of the rates: {ratio:.1f} (goal: at least {MIN_RATIO})"
        f" {'✓' if ratio >= MIN_RATIO else '✗'}"
    )


@contextmanager
def _durable(bench: Bench) -> Iterator[Bench]:
    """Run a PostgreSQL server with `fsync` during the block."""
    server = PostgresServer.create()
    try:
        server.stop()
        server.configure("fsync = on\nfull_page_writes = on\n")
        server.start()
        yield evolve(bench, postgres=server.url())
    finally:
        server.remove()


def _seconds(database: Database, server: Server, posts: Sequence[_Post]) -> float:
    """Return the time of these requests of a new organization, one after another."""
    [organization] = database.add_organizations(1, fields=0)
    headers = {"Authorization": f"Bearer {organization.key}", "Content-Type": "application/json"}
    bodies = [(post.path, json.dumps(post.document).encode(), post.status) for post in posts]
    with closing(HTTPConnection(urlsplit(server.url).netloc)) as connection:
        connection.connect()
        started = perf_counter()
        for path, body, status in bodies:
            connection.request("POST", path, body, headers)
            with connection.getresponse() as response:
                response.read()
            assert response.status == status
        return perf_counter() - started


def _creation(number: int) -> _Post:
    return _Post(FIELDS, {"recipient_field": _draft(number)}, HTTPStatus.CREATED)


def _batch(count: int) -> _Post:
    operations = [
        {"operation": "create", "recipient_field": _draft(number)} for number in range(count)
    ]
    return _Post(BATCHES, {"operations": operations}, HTTPStatus.OK)


def _draft(number: int) -> dict[str, object]:
    return {"name": f"Created {number}", "data_type": "text", "allowed_values": ["gold", "red"]}
