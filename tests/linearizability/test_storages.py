"""Concurrent callers of the use cases over each storage."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from recipient_fields.application import Core

from .histories import LosesResponses, assert_linearizable, users


def test_the_use_cases_are_linearizable(core: Core) -> None:
    assert_linearizable(lambda: users(core, core.storage.fields))


def test_the_use_cases_are_linearizable_if_responses_are_lost(core: Core) -> None:
    assert_linearizable(lambda: users(core, LosesResponses(core.storage.fields)))


@pytest.mark.parametrize("url", ["sqlite", "postgresql"], indirect=True)
def test_the_use_cases_are_linearizable_over_two_instances_of_one_storage(
    another: Callable[[], Core],
) -> None:
    one, other = another(), another()
    assert_linearizable(lambda: users(one, one.storage.fields, other.storage.fields))
