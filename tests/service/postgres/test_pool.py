"""The warning about a connection pool that is smaller than the number of threads."""

from __future__ import annotations

import pytest

from ...support.service import Service
from ..conftest import checked

pytestmark = pytest.mark.slow


WARNING = (
    "The storage has 2 connections for 3 threads, so requests can wait for a connection."
    " Add pool_size=3 to the storage URL, or lower --threads."
)


@pytest.mark.parametrize(
    ("query", "threads", "expected"),
    [("?pool_size=2", 3, [WARNING]), ("?pool_size=3", 3, []), ("", 8, [])],
)
def test_serve_warns_if_the_pool_is_smaller_than_the_number_of_threads(
    database: str, query: str, threads: int, expected: list[str]
) -> None:
    with checked(Service(database + query, "--threads", str(threads))) as service:
        assert service.anonymous("GET", "/readyz").status == 200
        warnings = [line["event"] for line in service.log if line["level"] == "warning"]
    assert warnings == expected
