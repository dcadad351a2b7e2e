"""The work of a request does not grow with the number of organizations, except in B-trees."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import closing

import pytest

from recipient_fields.adapters.postgres import PostgresStorage, migrate
from recipient_fields.domain import FieldId, OrganizationId, PlainKey
from recipient_fields.testing.examples import AUTHOR, a_definition, renaming
from recipient_fields.testing.field_changes import add_field, update_field

from ...benchmarks.data import Database
from ...support.postgres import execute, new_database
from ...support.waiting import eventually

pytestmark = pytest.mark.slow

FEW, MANY = 10, 20_000
"""Numbers of organizations with two fields each."""
CALLS = 500
MORE = 20
"""The maximum number of additional pages. Each index of many organizations has one or two more
levels. A scan of a table with many organizations reads over 100 pages."""

PAGES = """
    SELECT sum(blks_hit + blks_read) FROM pg_stat_database WHERE datname = current_database()
"""
OTHERS = """
    SELECT 1 FROM pg_stat_activity
    WHERE datname = current_database() AND pid <> pg_backend_pid() AND backend_type LIKE 'client%'
"""

Call = Callable[[PostgresStorage, int], object]
"""A call of the storage. The number is a different one each time."""


@pytest.fixture(scope="module")
def pages(server_url: str) -> Mapping[int, Mapping[str, float]]:
    """Return the pages that each call reads or changes, by the number of organizations."""
    return {
        organizations: dict(measure(server_url, organizations)) for organizations in (FEW, MANY)
    }


def measure(server_url: str, organizations: int) -> Iterator[tuple[str, float]]:
    with new_database(server_url) as url:
        migrate(url)
        database = Database(url)
        database.add_crowd(organizations, fields=2)
        (organization,) = database.add_keys(1)
        field_id = database.field_id(organization)
        database.vacuum()
        calls = calls_of(OrganizationId(organization.id), FieldId(field_id), organization.key)
        for name, call in calls.items():
            # A new session also reads pages, such as those of the system catalogs.
            first = pages_of(url, call, [0])
            yield name, (pages_of(url, call, range(1, 1 + CALLS)) - first) / (CALLS - 1)


def calls_of(ours: OrganizationId, field_id: FieldId, key: str) -> Mapping[str, Call]:
    plain = PlainKey.parse(key)
    assert plain is not None
    digest = plain.digest
    return {
        "find a key": lambda storage, _: storage.api_keys.find(digest),
        "read a list": lambda storage, _: storage.fields.publish(ours),
        "read a field": lambda storage, _: storage.fields.get(ours, field_id),
        "change": lambda storage, number: update_field(
            storage.fields, ours, field_id, renaming(f"Name {number}"), author=AUTHOR
        ),
        "create": lambda storage, number: add_field(
            storage.fields, ours, a_definition(f"created_{number}"), limit=1_000, author=AUTHOR
        ),
    }


def pages_of(url: str, call: Call, numbers: Iterable[int]) -> int:
    """Return the pages of a storage that makes a call for each number, and closes."""
    before = pages_so_far(url)
    with closing(PostgresStorage(url)) as storage:
        for number in numbers:
            call(storage, number)
    return pages_so_far(url) - before


def pages_so_far(url: str) -> int:
    """Return the pages that ended sessions have reported."""
    eventually(lambda: not execute(url, OTHERS))
    [(pages,)] = execute(url, PAGES)
    return int(str(pages))


@pytest.mark.parametrize("name", ["find a key", "read a list", "read a field", "change", "create"])
def test_the_pages_of_a_call_grow_with_the_depth_of_b_trees_only(pages, name):
    assert pages[MANY][name] <= pages[FEW][name] + MORE, pages
