"""What clients see while PostgreSQL is down, and how soon it is over.

RECIPIENT_FIELDS_TEST_OUTAGE_SECONDS says how long an outage lasts.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from time import monotonic, sleep

import pytest

from ...adapters.postgres.server import PostgresServer, eventually
from .load import LONGEST_ANSWER, HttpLoad

OUTAGE_SECONDS = float(os.environ.get("RECIPIENT_FIELDS_TEST_OUTAGE_SECONDS", "2"))


def terminate_backends(server: PostgresServer) -> None:
    server.terminate_backends()


def restart_fast(server: PostgresServer) -> None:
    server.stop("fast")
    server.start()


def restart_immediately(server: PostgresServer) -> None:
    server.stop("immediate")
    server.start()


def kill_the_postmaster(server: PostgresServer) -> None:
    server.kill()
    sleep(OUTAGE_SECONDS)
    server.start()


def freeze(server: PostgresServer) -> None:
    server.freeze()
    sleep(LONGEST_ANSWER + OUTAGE_SECONDS)
    server.thaw()


@pytest.mark.parametrize(
    "break_and_mend",
    [terminate_backends, restart_fast, restart_immediately, kill_the_postmaster, freeze],
)
def test_clients_are_told_to_retry_and_lose_nothing(
    server: PostgresServer,
    serve: Callable[[], str],
    key: str,
    break_and_mend: Callable[[PostgresServer], None],
) -> None:
    with HttpLoad(serve(), key) as load:
        break_and_mend(server)
        eventually(server.accepts, within=10)
        accepting = monotonic()
        sleep(2.5)
    load.require_an_outage_of_503s()
    load.require_service_since(accepting)
    load.require_nothing_lost()
