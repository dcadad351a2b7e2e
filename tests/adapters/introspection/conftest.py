from __future__ import annotations

import socket
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from typing import Any

import pytest

from recipient_fields.adapters.introspection import IntrospectionKeyValidator

from ...support.http_server import Handler, StubServer, stub_server
from .issuers import Tokens, validator_at


@pytest.fixture
def tokens() -> Tokens:
    return Tokens()


@pytest.fixture
def handler(tokens: Tokens) -> Handler:
    """Return the handler of the issuer."""
    return tokens


@pytest.fixture
def issuer(handler: Handler) -> Iterator[StubServer]:
    with stub_server(handler) as server:
        yield server


@pytest.fixture
def make_validator(issuer: StubServer) -> Iterator[Callable[..., IntrospectionKeyValidator]]:
    """Yield a function that creates validators for the issuer. The fixture closes them."""
    with ExitStack() as validators:

        def make(*rules: Any, **settings: Any) -> IntrospectionKeyValidator:
            return validators.enter_context(closing(validator_at(issuer.url, *rules, **settings)))

        yield make


@pytest.fixture
def validator(
    make_validator: Callable[..., IntrospectionKeyValidator],
) -> IntrospectionKeyValidator:
    return make_validator()


@pytest.fixture
def free_port() -> int:
    """Return a port on which no process listens."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port: int = listener.getsockname()[1]
    return port
