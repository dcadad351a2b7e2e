"""The commands `recipient-fields history`, `fields restore` and `fields list --as-of`."""

from __future__ import annotations

import json
from datetime import datetime, timedelta
from typing import Any

import pytest
from attrs import evolve

from recipient_fields.application.restoration import INTEGRATION_DELETED
from recipient_fields.domain import (
    ADMINISTRATOR,
    API,
    Author,
    DataType,
    Denied,
    FieldChanges,
    FieldDraft,
    HistoryQuery,
    HistoryRecord,
    Operation,
    RecipientField,
    decide,
    format_instant,
    sync_channel,
)

from ..stories import Commands, rendered


def records(commands: Commands) -> tuple[HistoryRecord, ...]:
    """Return the records of the organization, the newest first."""
    query = HistoryQuery(descending=True)
    return commands.core.fields.list_changes(commands.organization, query).records


def times(commands: Commands) -> list[str]:
    return [format_instant(record.occurred_at) for record in records(commands)]


def listed(commands: Commands, command: str) -> list[dict[str, Any]]:
    (only,) = commands(f"{command} --json").document().items()
    assert only[0] == "recipient_field_changes"
    return list(only[1])


@pytest.fixture
def tier(commands: Commands) -> RecipientField:
    """Create a field through the API and change it."""
    service = commands.core.fields.by(Author(API, id=7, name="rfk_0123…AuoE", request_id="r1"))
    draft = FieldDraft(name="Tier", data_type=DataType.TEXT, allowed_values=["gold", "silver"])
    field = service.create_field(commands.organization, draft)
    changes = FieldChanges(name="Level", allowed_values=["silver", "bronze"], insertable=False)
    return service.update_field(commands.organization, field.id, changes)


def test_list_prints_a_table_with_the_newest_change_first(commands, tier):
    commands("fields create --name Shop --data-type text")

    third, second, first = times(commands)
    shown = commands("history list").table()
    assert [line.replace("name, allowed_values, ", "name, ") for line in shown] == [
        "SEQUENCE  TIME                      OPERATION  ID  KEY   SOURCE  AUTHOR         CHANGED",
        f"3         {third}  created    2   shop  manual  operator       -",
        f"2         {second}  updated    1   tier  api     rfk_0123…AuoE  name, insertable",
        f"1         {first}  created    1   tier  api     rfk_0123…AuoE  -",
    ]


def test_list_prints_json_as_the_api_does(commands, tier):
    second, first = records(commands)
    common = {
        "actor": {"channel": "api", "id": 7, "name": "rfk_0123…AuoE"},
        "request_id": "r1",
        "field_id": tier.id,
        "key": "tier",
    }
    assert first.after is not None

    assert listed(commands, "history list") == [
        {
            "sequence": 2,
            "occurred_at": format_instant(second.occurred_at),
            "operation": "updated",
            **common,
            "before": rendered(first.after),
            "after": rendered(tier),
        },
        {
            "sequence": 1,
            "occurred_at": format_instant(first.occurred_at),
            "operation": "created",
            **common,
            "before": None,
            "after": rendered(first.after),
        },
    ]


@pytest.mark.parametrize(
    ("filters", "expected"),
    {
        "": [3, 2, 1],
        "--key tier": [2, 1],
        "--key 'No key'": [],
        "--source manual": [3],
        "--operation created": [3, 1],
        "--before 3": [2, 1],
    }.items(),
)
def test_list_filters(commands, tier, manual, filters, expected):
    changes = listed(commands, f"history list {filters}")

    assert [change["sequence"] for change in changes] == expected
    assert commands(f"history list {filters}").err == ""


@pytest.mark.parametrize("command", ["history list", "history show tier"])
def test_a_limited_list_names_the_option_for_older_changes(commands, tier, command):
    run = commands(f"{command} --limit 1")

    assert run.messages() == "There are older changes. To list them, add --before 2.\n"
    assert [each["sequence"] for each in listed(commands, f"{command} --before 2")] == [1]


TIME_RULE = "use a time such as 2026-11-20T09:15:00Z."


@pytest.mark.parametrize(
    ("command", "message"),
    {
        "history list --limit 1001": "1001 is not in the range 1<=x<=1000",
        "history list --before 0": "0 is not in the range x>=1",
        "history list --operation renamed": "'renamed' is not one of",
        "history list --source esp": "'esp' is not one of",
        "history prune --older-than 999999999d": "use a shorter duration.",
        "fields list --as-of 2026-11-20": TIME_RULE,
        "fields list --as-of 0001-01-01T00:00:00+02:00": TIME_RULE,
    }.items(),
)
def test_an_impossible_option_is_a_usage_error(commands, command, message):
    assert message in commands(command).usage_error()


@pytest.mark.parametrize("reference", ["1", "tier"])
def test_show_prints_one_line_per_changed_member(commands, tier, reference):
    second, first = times(commands)

    assert commands(f"history show {reference}").table() == [
        f"2  {second}  updated by rfk_0123…AuoE: field 1, tier",
        '    name: "Tier" → "Level"',
        '    allowed_values: added "bronze"; removed "gold"',
        "    insertable: true → false",
        f"1  {first}  created by rfk_0123…AuoE: field 1, tier",
        '    name: null → "Tier"',
        '    key: null → "tier"',
        '    data_type: null → "text"',
        '    allowed_values: added "gold", "silver"',
        "    insertable: null → true",
        '    source: null → "api"',
    ]


def test_show_prints_each_change_of_a_list_on_one_line(commands, tier):
    for values in (["bronze", "silver"], ["two\u202e words", 'a "b"'], None):
        changes = FieldChanges(allowed_values=values)
        commands.core.fields.update_field(commands.organization, tier.id, changes)

    lines = commands("history show tier --limit 3").table()

    assert [line for line in lines if line.startswith(" ")] == [
        r'    allowed_values: removed "two\u202e words", "a \"b\""',
        r'    allowed_values: added "two\u202e words", "a \"b\""; removed "bronze", "silver"',
        "    allowed_values: in another order",
    ]


def test_a_deleted_field_is_shown_and_restored_with_its_id(commands, manual):
    commands("fields delete 1 --yes")
    lines = commands("history show preferred_shop").table()
    assert "deleted by operator" in lines[0]
    assert '    name: "Preferred shop" → null' in lines

    expected = "Restored field 1, Preferred shop, with the key preferred_shop.\n"
    assert commands("fields restore 1").messages() == expected

    assert records(commands)[0].author == Author(ADMINISTRATOR, name="operator")
    commands("fields delete 1 --yes")
    restored = commands.changed("fields restore 1")
    assert commands.stored == [restored]
    assert restored["id"] == manual.id


def test_a_field_that_is_missing_or_taken_is_not_restored(commands, manual):
    never = commands("fields restore 999").failure()
    kept = commands("fields restore 1").failure()
    commands("fields delete 1 --yes")
    commands("fields create --name 'Preferred shop' --data-type text")
    taken = commands("fields restore 1").failure()

    assert never == (
        "No deleted field of this organization has the id 999. To see the ids: recipient-fields"
        " history list --operation deleted --organization 1"
    )
    assert commands.cli(*never.partition(": recipient-fields ")[2].split()).status == 0
    assert kept == "Field 1 is not deleted."
    assert taken == "Field 2 has the key of field 1. Delete field 2 first."
    assert commands("history show 999").failure() == (
        "There is no such recipient field in this organization."
        " `recipient-fields fields list` shows their ids and keys."
    )


def test_a_field_of_the_api_or_of_a_deleted_integration_is_not_restored(commands, foreign):
    integration_id = foreign.origin.integration_id
    channel = API if integration_id is None else sync_channel(integration_id)
    commands.core.fields.by(Author(channel)).delete_field(commands.organization, foreign.id)
    decision = decide(ADMINISTRATOR, Operation.CREATE, foreign.origin)
    assert isinstance(decision, Denied)

    failure = commands(f"fields restore {foreign.id}").failure()

    assert failure == (INTEGRATION_DELETED if integration_id else decision.reason)
    assert commands.stored == []


def test_the_fields_are_listed_as_they_were(commands, tier):
    _, first = records(commands)
    assert first.after is not None
    then = format_instant(first.occurred_at)

    document = commands(f"fields list --as-of {then} --json").document()

    assert document == {"recipient_fields": [rendered(first.after)]}


def test_a_time_before_the_history_is_a_failure(commands, manual):
    assert commands("fields list --as-of 2001-01-01T00:00:00Z").failure() == (
        "The history of this organization has no record up to this time. Use a later time, or list"
        " the current fields."
    )


PRUNE = "history prune --older-than 400d"


@pytest.fixture
def old_time(commands: Commands) -> datetime:
    """Create and delete a field 500 days ago, and create another one now. Return the first time."""
    acme, now = commands.organization, commands.core.fields.by(Author(ADMINISTRATOR))
    then = commands.core.clock() - timedelta(days=500)
    service = evolve(now, clock=lambda: then)
    field = service.create_field(acme, FieldDraft(name="Old", data_type=DataType.TEXT))
    service.delete_field(acme, field.id)
    now.create_field(acme, FieldDraft(name="New", data_type=DataType.TEXT))
    return then


def test_only_old_records_are_pruned(commands, old_time):
    run = commands(f"{PRUNE} --yes")

    assert run.messages().startswith("Deleted 2 records of changes before 20")
    assert [record.key for record in records(commands)] == ["new"]


def test_pruning_is_confirmed_at_a_terminal(commands, old_time):
    refused = commands(PRUNE, reply="n\n")

    assert refused.status == 1
    assert f"The oldest is of {format_instant(old_time)}." in refused.err
    assert "Delete all records of changes before 20" in refused.err
    assert "from the history of organization 1, Acme? [y/N]" in refused.err
    assert len(records(commands)) == 3
    assert commands(PRUNE, reply="y\n").status == 0
    assert len(records(commands)) == 1


def test_pruning_is_in_the_audit_log(commands, old_time, tmp_path):
    log = tmp_path / "audit.log"
    for _ in range(2):
        commands.cli(
            "history", "--audit-log", log, *PRUNE.split()[1:], "--organization", 1, "--yes"
        )

    (line,) = map(json.loads, log.read_text("utf-8").splitlines())
    assert line["event"].startswith("History pruned: by operator, organization 1, records 2")
    assert (line["act"], line["records"], line["organization"]) == ("pruned", 2, 1)
