from __future__ import annotations

import socket
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from typing import Any

import pytest

from recipient_fields.adapters.introspection import IntrospectionKeyValidator

from ...support.http_server import Play, Stage, staged
from .issuers import Tokens, validator_at


@pytest.fixture
def tokens() -> Tokens:
    return Tokens()


@pytest.fixture
def play(tokens: Tokens) -> Play:
    """What the issuer plays, unless a test's own fixture says otherwise."""
    return tokens


@pytest.fixture
def issuer(play: Play) -> Iterator[Stage]:
    with staged(play) as stage:
        yield stage


@pytest.fixture
def asking(issuer: Stage) -> Iterator[Callable[..., IntrospectionKeyValidator]]:
    """Makes validators that ask the issuer."""
    with ExitStack() as validators:

        def make(*rules: Any, **settings: Any) -> IntrospectionKeyValidator:
            return validators.enter_context(closing(validator_at(issuer.url, *rules, **settings)))

        yield make


@pytest.fixture
def validator(asking: Callable[..., IntrospectionKeyValidator]) -> IntrospectionKeyValidator:
    return asking()


@pytest.fixture
def free_port() -> int:
    """A port at which nobody answers."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port: int = listener.getsockname()[1]
    return port
