"""Concurrent clients of the service with its response cache."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from recipient_fields.application import Core

from .histories import LosesResponses, app, assert_linearizable, clients


def test_the_service_is_linearizable(core: Core) -> None:
    assert_linearizable(lambda: clients(core, app(core)))


def test_the_service_is_linearizable_if_responses_are_lost(core: Core) -> None:
    assert_linearizable(lambda: clients(core, app(core, LosesResponses(core.storage.fields))))


@pytest.mark.parametrize("url", ["sqlite", "postgresql"], indirect=True)
def test_two_services_on_one_storage_are_linearizable(another: Callable[[], Core]) -> None:
    one, other = another(), another()
    assert_linearizable(lambda: clients(one, app(one), app(other)))
