"""The history of an organization has a limit, and a batch can't multiply it."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable
from contextlib import closing

import pytest

from recipient_fields.adapters.postgres.dialect import PostgresConnection
from recipient_fields.adapters.relational.database import Row
from recipient_fields.adapters.sqlite.dialect import SqliteConnection
from recipient_fields.application import AUDIT, Core
from recipient_fields.domain import (
    API,
    AllowedValues,
    Author,
    CatalogChanges,
    DataType,
    FieldDraft,
    FieldKey,
    HistoryLimit,
    HistoryQuery,
    OrganizationId,
    format_instant,
)

from ...support.waiting import eventually
from ..api import BATCHES, FIELDS, HISTORY, Api
from ..conftest import Harness

LIMIT = 40_000
"""Bytes: about 60 records of small fields."""

FIELD_COUNT = 100
VALUES = AllowedValues(DataType.TEXT, [f"{n:04}".ljust(255, "x") for n in range(250)])
"""Of 64 KiB."""


@pytest.fixture
def limited(harness: Harness, bakery: OrganizationId) -> Api:
    """Return a client of a service that limits histories."""
    core = Core.over(harness.storage, clock=harness.clock, history_limit=HistoryLimit(LIMIT))
    key = harness.issue_key(bakery).plain.reveal()
    return harness.client(fields=core.fields).with_key(key)


def test_the_oldest_records_of_a_large_history_are_removed(limited, harness, bakery, caplog):
    """A reader who follows the history, and a user who restores a field, are told."""
    caplog.set_level(logging.INFO, AUDIT)
    gone = limited.post({"name": "Gone", "data_type": "text"}).field
    limited.delete("gone")
    limited.post({"name": "City", "data_type": "text"})
    assert len(limited.send("GET", f"{HISTORY}?after=0").json["recipient_field_changes"]) == 3
    for number in range(100):
        assert limited.patch("city", {"name": f"City {number}"}).status == 200
    eventually(lambda: harness.storage.history.size(bakery).bytes <= LIMIT, within=10)

    first, *_ = limited.send("GET", HISTORY).json["recipient_field_changes"]
    removed = first["sequence"] - 1
    assert removed > 3
    lines = [each.getMessage() for each in caplog.records if each.name == AUDIT]
    counts = [int(line.split("records ")[1].split(",")[0]) for line in lines]
    assert sum(counts) == removed
    assert lines[0] == (
        f"History pruned: by service, organization {bakery}, records {counts[0]}, limit {LIMIT}"
    )
    missed = limited.send("GET", f"{HISTORY}?after={removed - 1}")
    assert missed.status_code_and_reason == (404, "not_found", "before_history")
    assert missed.error["message"] == (
        f"The records up to {removed} were removed from the history, so a reader that continues"
        f" after {removed - 1} would miss some. List the current fields, and continue after"
        f" {removed}."
    )
    of_field = limited.send("GET", f"{FIELDS}/city/changes?after=0")
    assert of_field.status_code_and_reason == (404, "not_found", "before_history")
    assert limited.send("GET", f"{HISTORY}?after={removed}").status == 200
    restored = limited.send("POST", f"{FIELDS}/{gone['id']}/restore")
    assert restored.status_and_code == (409, "history_removed")
    past = limited.send("GET", f"{FIELDS}?as_of={gone['created_at']}")
    assert past.status_code_and_reason == (404, "not_found", "before_history")


def test_a_history_that_was_larger_at_the_upgrade_is_kept_until_the_limit_is_set(harness, bakery):
    limit = HistoryLimit(LIMIT)
    size = harness.storage.history.size(bakery)
    assert limit.target(size) is None
    for kept, target in ((True, None), (False, LIMIT * 9 // 10)):
        inherited = type(size)(bytes=LIMIT + 1, inherited=LIMIT + 1)
        assert HistoryLimit(LIMIT, keeps_inherited=kept).target(inherited) == target


def large_fields(harness: Harness, organization: OrganizationId) -> None:
    drafts = [
        FieldDraft(
            name="Field",
            key=FieldKey(f"f{number:02}"),
            data_type=DataType.TEXT,
            allowed_values=[*VALUES.values[:-1], f"{number}"],
        )
        for number in range(FIELD_COUNT)
    ]
    definitions = tuple(each.define(by=API, at=harness.clock()) for each in drafts)
    changes = CatalogChanges.of(created=definitions)
    author = Author(API)
    harness.storage.fields.change(
        organization, lambda _: changes, author=author, at=harness.clock()
    )


def toggling(*, insertable: bool) -> str:
    """Return the body of a batch that changes one small member of each large field."""
    operations = [
        {
            "operation": "update",
            "reference": f"f{number:02}",
            "recipient_field": {"insertable": insertable},
        }
        for number in range(FIELD_COUNT)
    ]
    return json.dumps({"operations": operations}, separators=(",", ":"))


def test_a_small_batch_adds_little_to_the_history_of_large_fields(api, harness, bakery):
    large_fields(harness, bakery)
    before = harness.storage.history.size(bakery).bytes
    assert before > FIELD_COUNT * 60_000
    body = toggling(insertable=False)
    assert len(body) < 9_000
    response = api.send("POST", BATCHES, body)
    assert response.status == 200
    assert harness.storage.history.size(bakery).bytes - before < 20 * len(body)
    last = harness.storage.history.select(bakery, HistoryQuery(descending=True, limit=1)).records[0]
    assert last.after is not None
    assert last.after.allowed_values is not None
    assert last.after.allowed_values.values[:-1] == VALUES.values[:-1]


@pytest.mark.slow
def test_a_small_batch_adds_little_to_a_sqlite_file(folder):
    file = folder / "growth.db"
    harness = Harness.open(f"sqlite:{file}")
    with closing(harness.storage):
        organization = harness.organization()
        large_fields(harness, organization)
        api = harness.client_with_key(organization)
        api.send("POST", BATCHES, toggling(insertable=False))
        before = file.stat().st_size
        for number in range(4):
            body = toggling(insertable=number % 2 == 0)
            assert api.send("POST", BATCHES, body).status == 200
        # The rows of the fields are written again, in place of the previous ones.
        assert file.stat().st_size - before < 2 * FIELD_COUNT * 64 * 1024


@pytest.mark.parametrize("changed", [False, True])
def test_a_page_of_a_past_list_reads_the_large_values_of_this_page_only(
    api, harness, bakery, monkeypatch, *, changed
):
    large_fields(harness, bakery)
    at = harness.storage.history.select(bakery, HistoryQuery(limit=1)).records[0].occurred_at
    if changed:
        assert api.send("POST", BATCHES, toggling(insertable=False)).status == 200
    read = [0]
    for kind in (SqliteConnection, PostgresConnection):
        counted = counting(kind.all, read)
        monkeypatch.setattr(kind, "all", counted)
    path = f"{FIELDS}?as_of={format_instant(at)}&limit="
    first = api.send("GET", f"{path}1")
    assert (first.keys, first.headers["total-count"]) == (["f00"], f"{FIELD_COUNT}")
    assert first.fields[0]["insertable"] is True
    assert len(first.fields[0]["allowed_values"]) == 250
    assert read[0] < 64 * 1024 + FIELD_COUNT * 1_000
    assert api.send("GET", f"{path}100").keys == [f"f{number:02}" for number in range(100)]


def counting(call: Callable[..., list[Row]], read: list[int]) -> Callable[..., list[Row]]:
    """Return the method that also adds the lengths of the texts in its rows."""

    def counted(connection: object, *arguments: object) -> list[Row]:
        rows = call(connection, *arguments)
        read[0] += sum(len(value) for row in rows for value in row if isinstance(value, str))
        return rows

    return counted
