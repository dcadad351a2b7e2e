"""Outages of a PostgreSQL server, after which it accepts connections again."""

from __future__ import annotations

import os
from time import sleep

from .postgres import PostgresServer

OUTAGE_SECONDS = float(os.environ.get("RECIPIENT_FIELDS_TEST_OUTAGE_SECONDS", "2"))
"""How long an outage lasts. Every timeout passes within 2 s; longer outages show that the recovery
does not depend on their length."""


def terminate_backends(server: PostgresServer) -> None:
    server.terminate_backends()


def restart_fast(server: PostgresServer) -> None:
    server.stop("fast")
    server.start()


def restart_immediately(server: PostgresServer) -> None:
    server.stop("immediate")
    server.start()


def kill_a_backend(server: PostgresServer) -> None:
    """Kill one session, so that the postmaster ends all others and recovers."""
    server.kill_a_backend()


def kill_the_postmaster(server: PostgresServer) -> None:
    server.kill()
    sleep(OUTAGE_SECONDS)
    server.start()


OUTAGES = (
    terminate_backends,
    restart_fast,
    restart_immediately,
    kill_a_backend,
    kill_the_postmaster,
)
