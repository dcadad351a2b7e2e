"""The number of histories, their callers, and assertions about them."""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import cycle, islice
from random import Random
from time import perf_counter
from typing import Any

from recipient_fields.application import Core, RecipientFieldService
from recipient_fields.domain import StorageUnavailable
from recipient_fields.entrypoints.http.app import create_app

from ..http.api import Api, Transport, through_falcon
from .model import Call, contradictions
from .recorder import KEYS, Caller, Client, UseCases, record

THREADS = 4
OPERATIONS = 300
HISTORIES = int(os.environ.get("RECIPIENT_FIELDS_HISTORIES", "1"))
"""The number of histories per storage and service."""
SEED = int(os.environ.get("RECIPIENT_FIELDS_HISTORIES_SEED", "1"))
SOON = 20
"""The number of histories in which a seeded bug must be found."""

_log = logging.getLogger(__name__)


class LosesAnswers:
    """A repository that sometimes fails, before a change or after it."""

    def __init__(self, sound: Any) -> None:
        self._sound = sound
        self._random = Random(1)

    def __getattr__(self, name: str) -> Any:
        method = getattr(self._sound, name)

        def call(*arguments: Any, **options: Any) -> Any:
            fate = self._random.random()
            if fate < 0.02:
                raise StorageUnavailable
            result = method(*arguments, **options)
            if fate < 0.04:
                raise StorageUnavailable
            return result

        return call


def users(core: Core, *repositories: Any) -> list[Caller]:
    """Return callers of the use cases of a new organization, distributed over the repositories."""
    ours = core.administration.create_organization("Bakery").id
    services = [_over(fields) for fields in repositories]
    return [UseCases(services[n % len(services)], ours) for n in range(THREADS)]


def clients(core: Core, *apps: Any) -> list[Caller]:
    """Return clients of a new organization that use the applications in turn; half revalidate."""
    ours = core.administration.create_organization("Bakery").id
    key = core.administration.issue_key(ours, name="Test").plain.reveal()
    return [
        Client(Api(_in_turn(map(through_falcon, apps), n), key), revalidates=n >= THREADS // 2)
        for n in range(THREADS)
    ]


def app(core: Core, fields: Any = None, validator: Any = None) -> Any:
    """Create the application, with another repository or validator if one is passed."""
    service = _over(fields or core.storage.fields)
    return create_app(service, validator or core.validator, core.storage.check)


def assert_linearizable(callers: Callable[[], Sequence[Caller]]) -> None:
    """Check that every history of such callers is linearizable."""
    started, operations = perf_counter(), 0
    for history in _recorded(callers, HISTORIES):
        assert contradictions(history, KEYS) == ()
        operations += len(history)
    seconds = perf_counter() - started
    _log.info("%d histories, %d operations, %.1f s", HISTORIES, operations, seconds)


def assert_soon_contradicted(callers: Callable[[], Sequence[Caller]]) -> None:
    """Check that some history of such callers is not linearizable."""
    histories = enumerate(_recorded(callers, SOON), start=1)
    found = next((n for n, history in histories if contradictions(history, KEYS)), None)
    assert found is not None
    _log.info("found in history %d", found)


def _in_turn(transports: Iterable[Transport], first: int) -> Transport:
    """Send requests to one service after the other, as a load balancer does."""
    turns = islice(cycle(transports), first, None)
    return lambda *request: next(turns)(*request)


def _over(fields: Any) -> RecipientFieldService:
    return RecipientFieldService(fields=fields)


def _recorded(callers: Callable[[], Sequence[Caller]], histories: int) -> Iterator[list[Call]]:
    for number in range(histories):
        yield record(callers(), seed=f"{SEED}, {number}", operations=OPERATIONS)
