"""The growth of the storage by small batches that change large fields: `make test-load`."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from time import monotonic

import psutil
import pytest

from recipient_fields.application import Core, HistoryStorage, Storage
from recipient_fields.domain import DataType, FieldDraft, OrganizationId
from recipient_fields.entrypoints.service.selection import migrate_storage, open_storage

from ..support.postgres import execute, new_database
from ..support.service import Client, Service
from .conftest import checked, new_file

FIELD_COUNT = 100
VALUES = [f"{number:04}".ljust(255, "x") for number in range(250)]
"""Of 64 KiB as JSON."""
BATCHES = 10
MEBIBYTE = 1024 * 1024


def _size_of_file(file: Path) -> int:
    return sum(each.stat().st_size for each in file.parent.glob(f"{file.name}*"))


@pytest.fixture(params=["sqlite", "postgresql"])
def storage(request: pytest.FixtureRequest) -> Iterator[tuple[str, Callable[[], int]]]:
    """Return the URL of a storage, and a function that returns its size in bytes."""
    if request.param == "sqlite":
        with new_file() as file:
            yield f"sqlite:{file}", lambda: _size_of_file(file)
        return
    with new_database(request.getfixturevalue("server_url")) as url:
        migrate_storage(url)
        size = (
            "SELECT pg_total_relation_size('recipient_field_changes')"
            " + pg_total_relation_size('recipient_field_values')"
        )
        yield url, lambda: int(str(execute(url, size)[0][0]))


def large_fields(storage: Storage) -> tuple[OrganizationId, str]:
    """Create an organization with large fields. Return its id and an API key."""
    core = Core.over(storage)
    organization = core.administration.create_organization("Large").id
    for number in range(FIELD_COUNT):
        values = [*VALUES[:-1], f"{number}"]
        draft = FieldDraft(
            name="F", key=f"f{number:02}", data_type=DataType.TEXT, allowed_values=values
        )
        core.fields.create_field(organization, draft)
    issued = core.administration.issue_key(organization, name="Attacker")
    return organization, issued.plain.reveal()


def operations(*, insertable: bool) -> list[dict[str, object]]:
    return [
        {
            "operation": "update",
            "reference": f"f{number:02}",
            "recipient_field": {"insertable": insertable},
        }
        for number in range(FIELD_COUNT)
    ]


def test_small_batches_add_little_to_the_storage(storage, capsys):
    url, size = storage
    with closing(open_storage(url)) as opened:
        organization, key = large_fields(opened)
        assert isinstance(opened, HistoryStorage)
        before, counted = size(), opened.history.size(organization).bytes
        with checked(Service(url)) as service:
            client: Client = service.client(key)
            began = monotonic()
            received = 0
            for number in range(BATCHES):
                response = client.apply(operations(insertable=number % 2 == 1))
                assert response.status == 200
                received += len(response.body)
            seconds = monotonic() - began
            memory = psutil.Process(service.process_id).memory_info().rss
        grown, records = size() - before, opened.history.size(organization).bytes - counted
    sent = len(json.dumps({"operations": operations(insertable=True)})) * BATCHES
    with capsys.disabled():
        sys.stdout.write(
            f"\n{BATCHES} batches of {sent / BATCHES / 1024:.1f} KiB: the storage grew by"
            f" {grown / MEBIBYTE:.1f} MiB, the history by {records / MEBIBYTE:.2f} MiB;"
            f" {received / MEBIBYTE:.1f} MiB received in {seconds:.1f} s;"
            f" {memory / MEBIBYTE:.0f} MiB of memory\n"
        )
    assert records < 20 * sent
    # SQLite's write-ahead log and the rows of the fields are rewritten in place.
    assert grown < 4 * FIELD_COUNT * 64 * 1024
