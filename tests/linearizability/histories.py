"""Recorded histories of concurrent callers, and assertions about them."""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import cycle, islice
from random import Random
from time import perf_counter
from typing import Any

from attrs import evolve

from recipient_fields.adapters.memory import MemoryStorage
from recipient_fields.application import Core, RecipientFieldService
from recipient_fields.domain import StorageUnavailable
from recipient_fields.entrypoints.http.app import create_app

from ..http.api import Api, Transport, falcon_transport
from .model import Call, contradictions
from .recorder import KEYS, Caller, Client, UseCases, record

THREADS = 4
OPERATIONS = 300
HISTORIES = int(os.environ.get("RECIPIENT_FIELDS_HISTORIES", "1"))
"""The number of histories per storage and service."""
SEED = int(os.environ.get("RECIPIENT_FIELDS_HISTORIES_SEED", "1"))
MAX_HISTORIES_TO_FIND_A_BUG = 20
"""A seeded bug must be found within this number of histories."""

_log = logging.getLogger(__name__)


class LosesResponses:
    """A repository that sometimes raises StorageUnavailable, before or after a call."""

    def __init__(self, correct: Any) -> None:
        self._correct = correct
        self._random = Random(1)

    def __getattr__(self, name: str) -> Any:
        method = getattr(self._correct, name)

        def call(*arguments: Any, **options: Any) -> Any:
            number = self._random.random()
            if number < 0.02:
                raise StorageUnavailable
            result = method(*arguments, **options)
            if number < 0.04:
                raise StorageUnavailable
            return result

        return call


def users(core: Core, *repositories: Any) -> list[Caller]:
    """Return callers of the use cases, in a new organization, distributed over the repositories."""
    organization_id = core.administration.create_organization("Bakery").id
    services = [_over(fields) for fields in repositories]
    return [UseCases(services[n % len(services)], organization_id) for n in range(THREADS)]


def clients(core: Core, *apps: Any) -> list[Caller]:
    """Return clients of a new organization. Each uses the applications in turn; half revalidate."""
    organization_id = core.administration.create_organization("Bakery").id
    key = core.administration.issue_key(organization_id, name="Test").plain.reveal()
    return [
        Client(Api(_in_turn(map(falcon_transport, apps), n), key), revalidates=n >= THREADS // 2)
        for n in range(THREADS)
    ]


def app(core: Core, fields: Any = None, validator: Any = None) -> Any:
    """Create the application, with another repository or validator if one is passed."""
    service = _over(fields or core.storage.fields)
    return create_app(evolve(core, fields=service, validator=validator or core.validator))


def assert_linearizable(callers: Callable[[], Sequence[Caller]]) -> None:
    """Assert that every history of these callers is linearizable."""
    started, operations = perf_counter(), 0
    for history in _recorded(callers, HISTORIES):
        assert contradictions(history, KEYS) == ()
        operations += len(history)
    seconds = perf_counter() - started
    _log.info("%d histories, %d operations, %.1f s", HISTORIES, operations, seconds)


def assert_bug_is_found(callers: Callable[[], Sequence[Caller]]) -> None:
    """Assert that a history of these callers is not linearizable."""
    histories = enumerate(_recorded(callers, MAX_HISTORIES_TO_FIND_A_BUG), start=1)
    found = next((n for n, history in histories if contradictions(history, KEYS)), None)
    assert found is not None
    _log.info("found in history %d", found)


def _in_turn(transports: Iterable[Transport], first: int) -> Transport:
    """Return a transport that sends requests to the services in turn, like a load balancer."""
    turns = islice(cycle(transports), first, None)
    return lambda *request: next(turns)(*request)


def _over(fields: Any) -> RecipientFieldService:
    return RecipientFieldService(fields=fields, history=MemoryStorage().history)


def _recorded(callers: Callable[[], Sequence[Caller]], histories: int) -> Iterator[list[Call]]:
    for number in range(histories):
        yield record(callers(), seed=f"{SEED}, {number}", operations=OPERATIONS)
