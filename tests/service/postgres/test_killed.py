"""`kill -9` of the service while it writes to PostgreSQL."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack

import pytest

from ...support.service import Service
from ..test_killed import (
    test_a_batch_is_stored_completely_or_not_at_all_after_a_kill,
    test_every_acknowledged_write_is_stored_exactly_once_after_a_kill,
)
from .conftest import MANY_FIELDS

pytestmark = pytest.mark.slow

__all__ = [
    "test_a_batch_is_stored_completely_or_not_at_all_after_a_kill",
    "test_every_acknowledged_write_is_stored_exactly_once_after_a_kill",
]


@pytest.fixture
def start(database: str) -> Iterator[Callable[[], Service]]:
    """Start a service on the database, and kill it at the end."""
    with ExitStack() as services:

        def started() -> Service:
            service = Service(database, *MANY_FIELDS)
            services.callback(service.kill)
            return service

        yield started
