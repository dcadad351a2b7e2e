"""The commands `recipient-fields history`, `fields restore` and `fields list --as-of`."""

from __future__ import annotations

import json
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from attrs import evolve

from recipient_fields.application import Core, render_field
from recipient_fields.application.documents.strict_json import render_json
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
    OrganizationId,
    RecipientField,
    decide,
    format_instant,
    sync_channel,
)

from ...support.command_line import CommandLine


def records(core: Core, organization: OrganizationId) -> tuple[HistoryRecord, ...]:
    """Return the records of an organization, the newest first."""
    return core.fields.list_changes(organization, HistoryQuery(descending=True)).records


def rendered(field: RecipientField) -> dict[str, Any]:
    document: dict[str, Any] = json.loads(render_json(render_field(field)))
    return document


def times(core: Core, organization: OrganizationId) -> list[str]:
    return [format_instant(record.occurred_at) for record in records(core, organization)]


@pytest.fixture
def tier(core: Core, acme: OrganizationId) -> RecipientField:
    """Create a field through the API and change it."""
    service = core.fields.by(Author(API, id=7, name="rfk_0123…AuoE", request_id="r1"))
    draft = FieldDraft(name="Tier", data_type=DataType.TEXT, allowed_values=["gold", "silver"])
    field = service.create_field(acme, draft)
    changes = FieldChanges(name="Level", allowed_values=["silver", "bronze"], insertable=False)
    return service.update_field(acme, field.id, changes)


def test_list_prints_a_table_with_the_newest_change_first(
    cli: CommandLine, core: Core, acme: OrganizationId, tier: RecipientField
) -> None:
    cli("fields", "create", "--organization", acme, "--name", "Shop", "--data-type", "text")

    third, second, first = times(core, acme)
    shown = cli("history", "list", "--organization", acme).table()
    assert [line.replace("name, allowed_values, ", "name, ") for line in shown] == [
        "SEQUENCE  TIME                      OPERATION  ID  KEY   SOURCE  AUTHOR         CHANGED",
        f"3         {third}  created    2   shop  manual  operator       -",
        f"2         {second}  updated    1   tier  api     rfk_0123…AuoE  name, insertable",
        f"1         {first}  created    1   tier  api     rfk_0123…AuoE  -",
    ]


def test_list_prints_json_as_the_api_does(
    cli: CommandLine, core: Core, acme: OrganizationId, tier: RecipientField
) -> None:
    second, first = records(core, acme)
    common = {
        "actor": {"channel": "api", "id": 7, "name": "rfk_0123…AuoE"},
        "request_id": "r1",
        "field_id": tier.id,
        "key": "tier",
    }
    assert first.after is not None

    assert cli("history", "list", "--organization", acme, "--json").document() == {
        "recipient_field_changes": [
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
    }


@pytest.mark.parametrize(
    ("filters", "expected"),
    [
        ((), [3, 2, 1]),
        (("--key", "tier"), [2, 1]),
        (("--key", "No key"), []),
        (("--source", "manual"), [3]),
        (("--operation", "created"), [3, 1]),
        (("--before", "3"), [2, 1]),
    ],
)
def test_list_filters(
    cli: CommandLine,
    acme: OrganizationId,
    tier: RecipientField,
    manual: RecipientField,
    filters: tuple[str, ...],
    expected: list[int],
) -> None:
    run = cli("history", "list", "--organization", acme, "--json", *filters)

    changes = run.document()["recipient_field_changes"]
    assert [change["sequence"] for change in changes] == expected
    assert run.err == ""


@pytest.mark.parametrize("command", [("list",), ("show", "tier")])
def test_a_limited_list_names_the_option_for_older_changes(
    cli: CommandLine, acme: OrganizationId, tier: RecipientField, command: tuple[str, ...]
) -> None:
    run = cli("history", *command, "--organization", acme, "--limit", 1)

    assert run.messages() == "There are older changes. To list them, add --before 2.\n"
    older = cli("history", *command, "--organization", acme, "--before", 2, "--json").document()
    assert [each["sequence"] for each in older["recipient_field_changes"]] == [1]


@pytest.mark.parametrize(
    ("command", "message"),
    [
        (("history", "list", "--limit", "1001"), "1001 is not in the range 1<=x<=1000"),
        (("history", "list", "--before", "0"), "0 is not in the range x>=1"),
        (("history", "list", "--operation", "renamed"), "'renamed' is not one of"),
        (("history", "list", "--source", "esp"), "'esp' is not one of"),
        (("history", "prune", "--older-than", "999999999d"), "use a shorter duration."),
        (("fields", "list", "--as-of", "2026-11-20"), "use a time such as 2026-11-20T09:15:00Z."),
        (
            ("fields", "list", "--as-of", "0001-01-01T00:00:00+02:00"),
            "use a time such as 2026-11-20T09:15:00Z.",
        ),
    ],
)
def test_an_impossible_option_is_a_usage_error(
    cli: CommandLine, acme: OrganizationId, command: tuple[str, ...], message: str
) -> None:
    assert message in cli(*command, "--organization", acme).usage_error()


@pytest.mark.parametrize("by", ["id", "key"])
def test_show_prints_one_line_per_changed_member(
    cli: CommandLine, core: Core, acme: OrganizationId, tier: RecipientField, by: str
) -> None:
    second, first = times(core, acme)
    reference = tier.id if by == "id" else tier.key

    assert cli("history", "show", reference, "--organization", acme).table() == [
        f"2  {second}  updated by rfk_0123…AuoE: field {tier.id}, tier",
        '    name: "Tier" → "Level"',
        '    allowed_values: added "bronze"; removed "gold"',
        "    insertable: true → false",
        f"1  {first}  created by rfk_0123…AuoE: field {tier.id}, tier",
        '    name: null → "Tier"',
        '    key: null → "tier"',
        '    data_type: null → "text"',
        '    allowed_values: added "gold", "silver"',
        "    insertable: null → true",
        '    source: null → "api"',
    ]


def test_show_prints_each_change_of_a_list_on_one_line(
    cli: CommandLine, core: Core, acme: OrganizationId, tier: RecipientField
) -> None:
    for values in (["bronze", "silver"], ["two\u202e words", 'a "b"'], None):
        core.fields.update_field(acme, tier.id, FieldChanges(allowed_values=values))

    lines = cli("history", "show", "tier", "--organization", acme, "--limit", 3).table()

    assert [line for line in lines if line.startswith(" ")] == [
        r'    allowed_values: removed "two\u202e words", "a \"b\""',
        r'    allowed_values: added "two\u202e words", "a \"b\""; removed "bronze", "silver"',
        "    allowed_values: in another order",
    ]


def test_a_deleted_field_is_shown_and_restored_with_its_id(
    cli: CommandLine, core: Core, acme: OrganizationId, manual: RecipientField
) -> None:
    delete = ("fields", "delete", manual.id, "--organization", acme, "--yes")
    restore = ("fields", "restore", manual.id, "--organization", acme)
    cli(*delete)
    lines = cli("history", "show", manual.key, "--organization", acme).table()
    assert "deleted by operator" in lines[0]
    assert '    name: "Preferred shop" → null' in lines

    expected = f"Restored field {manual.id}, Preferred shop, with the key preferred_shop.\n"
    assert cli(*restore).messages() == expected

    assert records(core, acme)[0].author == Author(ADMINISTRATOR, name="operator")
    cli(*delete)
    restored = cli(*restore, "--json").document()["recipient_field"]
    assert [restored] == [rendered(field) for field in core.fields.list_fields(acme).fields]
    assert restored["id"] == manual.id


def test_a_missing_field_is_reported(cli: CommandLine, acme: OrganizationId) -> None:
    failure = cli("history", "show", 999, "--organization", acme).failure()

    assert failure == (
        "There is no such recipient field in this organization."
        " `recipient-fields fields list` shows their ids and keys."
    )


def test_a_field_that_never_existed_is_not_restored(cli: CommandLine, acme: OrganizationId) -> None:
    failure = cli("fields", "restore", 999, "--organization", acme).failure()

    assert failure == (
        "No deleted field of this organization has the id 999. To see the ids: recipient-fields"
        f" history list --operation deleted --organization {acme}"
    )
    assert cli(*failure.partition(": recipient-fields ")[2].split()).status == 0


def test_a_field_that_exists_or_whose_key_is_taken_is_not_restored(
    cli: CommandLine, acme: OrganizationId, manual: RecipientField
) -> None:
    restore = ("fields", "restore", manual.id, "--organization", acme)
    assert cli(*restore).failure() == f"Field {manual.id} is not deleted."
    cli("fields", "delete", manual.id, "--organization", acme, "--yes")
    cli(*("fields", "create", "--organization", acme, "--name", manual.name), "--data-type", "text")

    assert cli(*restore).failure() == (
        f"Field {manual.id + 1} has the key of field {manual.id}."
        f" Delete field {manual.id + 1} first."
    )


def test_a_field_of_the_api_or_of_a_deleted_integration_is_not_restored(
    cli: CommandLine, core: Core, acme: OrganizationId, foreign: RecipientField
) -> None:
    integration_id = foreign.origin.integration_id
    channel = API if integration_id is None else sync_channel(integration_id)
    core.fields.by(Author(channel)).delete_field(acme, foreign.id)
    decision = decide(ADMINISTRATOR, Operation.CREATE, foreign.origin)
    assert isinstance(decision, Denied)

    run = cli("fields", "restore", foreign.id, "--organization", acme)

    assert run.failure() == (INTEGRATION_DELETED if integration_id else decision.reason)
    assert core.fields.list_fields(acme).fields == ()


def test_the_fields_are_listed_as_they_were(
    cli: CommandLine, core: Core, acme: OrganizationId, tier: RecipientField
) -> None:
    _, first = records(core, acme)
    assert first.after is not None
    then = format_instant(first.occurred_at)

    run = cli("fields", "list", "--organization", acme, "--as-of", then, "--json")

    assert run.document() == {"recipient_fields": [rendered(first.after)]}


def test_a_time_before_the_history_is_a_failure(
    cli: CommandLine, acme: OrganizationId, manual: RecipientField
) -> None:
    run = cli("fields", "list", "--organization", acme, "--as-of", "2001-01-01T00:00:00Z")

    assert run.failure() == (
        "The history of this organization has no record up to this time. Use a later time, or list"
        " the current fields."
    )


PRUNE = ("history", "prune", "--older-than", "400d", "--organization")


@pytest.fixture
def old_time(core: Core, acme: OrganizationId) -> datetime:
    """Create and delete a field 500 days ago, and create another one now. Return the first time."""
    now = core.fields.by(Author(ADMINISTRATOR))
    then = core.clock() - timedelta(days=500)
    service = evolve(now, clock=lambda: then)
    field = service.create_field(acme, FieldDraft(name="Old", data_type=DataType.TEXT))
    service.delete_field(acme, field.id)
    now.create_field(acme, FieldDraft(name="New", data_type=DataType.TEXT))
    return then


def test_only_old_records_are_pruned(
    cli: CommandLine, core: Core, acme: OrganizationId, old_time: datetime
) -> None:
    run = cli(*PRUNE, acme, "--yes")

    assert run.messages().startswith("Deleted 2 records of changes before 20")
    assert [record.key for record in records(core, acme)] == ["new"]


def test_pruning_is_confirmed_at_a_terminal(
    cli: CommandLine, core: Core, acme: OrganizationId, old_time: datetime
) -> None:
    refused = cli(*PRUNE, acme, reply="n\n")

    assert refused.status == 1
    assert f"The oldest is of {format_instant(old_time)}." in refused.err
    assert "Delete all records of changes before 20" in refused.err
    assert f"from the history of organization {acme}, Acme? [y/N]" in refused.err
    assert len(records(core, acme)) == 3
    assert cli(*PRUNE, acme, reply="y\n").status == 0
    assert len(records(core, acme)) == 1


def test_pruning_is_in_the_audit_log(
    cli: CommandLine, acme: OrganizationId, old_time: datetime, tmp_path: Path
) -> None:
    log = tmp_path / "audit.log"
    for _ in range(2):
        cli("history", "--audit-log", log, *PRUNE[1:], acme, "--yes")

    (line,) = map(json.loads, log.read_text("utf-8").splitlines())
    assert line["event"].startswith(f"History pruned: by operator, organization {acme}, records 2")
    assert (line["act"], line["records"], line["organization"]) == ("pruned", 2, acme)
