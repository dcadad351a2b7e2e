from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack

import pytest

from ...support.http_server import Play, Stage, staged


@pytest.fixture
def stage() -> Iterator[Callable[[Play], Stage]]:
    """Makes servers that play, and closes them."""
    with ExitStack() as stages:
        yield lambda play: stages.enter_context(staged(play))
