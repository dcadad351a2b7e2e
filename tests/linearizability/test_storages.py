"""What callers at once are told by the use cases over each storage."""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import Any

import pytest

from recipient_fields.domain import StorageUnavailable
from recipient_fields.entrypoints.composition import Core

from .histories import assert_linearizable, users


class LosesAnswers:
    """A repository that now and then fails, before a change or after it."""

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


def test_the_use_cases_are_linearizable(core: Core) -> None:
    assert_linearizable(lambda: users(core, core.storage.fields))


def test_the_use_cases_stay_linearizable_where_answers_are_lost(core: Core) -> None:
    assert_linearizable(lambda: users(core, LosesAnswers(core.storage.fields)))


@pytest.mark.parametrize("url", ["sqlite", "postgresql"], indirect=True)
def test_the_use_cases_are_linearizable_through_two_openings_of_one_storage(
    another: Callable[[], Core],
) -> None:
    one, other = another(), another()
    assert_linearizable(lambda: users(one, one.storage.fields, other.storage.fields))
