from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack

import pytest

from ...support.http_server import Handler, StubServer, stub_server
from .accounts import ACCOUNTS, Account


@pytest.fixture(params=ACCOUNTS, ids=lambda account: account.esp)
def account(request: pytest.FixtureRequest) -> Account:
    return request.param


@pytest.fixture
def serve() -> Iterator[Callable[[Handler], StubServer]]:
    """Yield a function that runs a server with a handler. The servers end with the test."""
    with ExitStack() as servers:
        yield lambda handler: servers.enter_context(stub_server(handler))
