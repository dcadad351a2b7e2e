"""The commands `recipient-fields history`, `fields restore` and `fields list --as-of`."""

from __future__ import annotations

import json
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from attrs import evolve

from recipient_fields.application import Core, render_field
from recipient_fields.application.restoration import INTEGRATION_DELETED
from recipient_fields.application.strict_json import render_json
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

from ..support.command_line import NOT_CONFIRMED, CommandLine

NOT_FOUND = "There is no such recipient field in this organization."


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
        (("--operation", "created", "--source", "api"), [1]),
        (("--before", "3"), [2, 1]),
        (("--limit", "3"), [3, 2, 1]),
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


def test_a_limited_list_names_the_option_for_older_changes(
    cli: CommandLine, acme: OrganizationId, tier: RecipientField, manual: RecipientField
) -> None:
    run = cli("history", "list", "--organization", acme, "--limit", 2)

    assert [line.split()[0] for line in run.table()[1:]] == ["3", "2"]
    assert run.err == "There are older changes. To list them, add --before 2.\n"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--limit", "1001"), "1001 is not in the range 1<=x<=1000"),
        (("--before", "0"), "0 is not in the range x>=1"),
        (("--operation", "renamed"), "'renamed' is not one of"),
        (("--source", "esp"), "'esp' is not one of"),
    ],
)
def test_an_impossible_option_is_a_usage_error(
    cli: CommandLine, acme: OrganizationId, arguments: tuple[str, ...], message: str
) -> None:
    run = cli("history", "list", "--organization", acme, *arguments)

    assert message in run.usage_error()


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


def test_show_of_a_deleted_field(
    cli: CommandLine, acme: OrganizationId, manual: RecipientField
) -> None:
    cli("fields", "delete", manual.id, "--organization", acme, "--yes")

    lines = cli("history", "show", manual.key, "--organization", acme).table()

    assert "deleted by operator" in lines[0]
    assert '    name: "Preferred shop" → null' in lines
    document = cli("history", "show", manual.id, "--organization", acme, "--json").document()
    assert [each["operation"] for each in document["recipient_field_changes"]] == [
        "deleted",
        "created",
    ]


@pytest.mark.parametrize("command", [("history", "show"), ("fields", "restore")])
def test_fields_of_other_organizations_are_missing(
    cli: CommandLine, core: Core, acme: OrganizationId, command: tuple[str, ...]
) -> None:
    brewery = core.administration.create_organization("Brewery").id
    service = core.fields.by(Author(ADMINISTRATOR))
    secret = service.create_field(brewery, FieldDraft(name="Secret", data_type=DataType.TEXT))
    service.delete_field(brewery, secret.id)

    for field_id in (secret.id, 999):
        assert cli(*command, field_id, "--organization", acme).failure() == NOT_FOUND
    assert len(cli("history", "list", "--organization", acme).table()) == 1
    assert service.list_fields(brewery).fields == ()


def test_a_deleted_field_is_restored_with_its_id(
    cli: CommandLine, core: Core, acme: OrganizationId, manual: RecipientField
) -> None:
    cli("fields", "delete", manual.id, "--organization", acme, "--yes")

    run = cli("fields", "restore", manual.id, "--organization", acme)

    expected = f"Restored field {manual.id}, Preferred shop, with the key preferred_shop.\n"
    assert run.messages() == expected
    (restored,) = core.fields.list_fields(acme).fields
    assert (restored.id, restored.name) == (manual.id, manual.name)
    assert records(core, acme)[0].author == Author(ADMINISTRATOR, name="operator")


def test_a_restored_field_is_printed_as_json(
    cli: CommandLine, core: Core, acme: OrganizationId, manual: RecipientField
) -> None:
    cli("fields", "delete", manual.id, "--organization", acme, "--yes")

    run = cli("fields", "restore", manual.id, "--organization", acme, "--json")

    (restored,) = core.fields.list_fields(acme).fields
    assert run.document() == {"recipient_field": rendered(restored)}


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
    cli("fields", "create", "--organization", acme, "--name", "Shop", "--data-type", "text")
    _, second, first = records(core, acme)

    def listed(instant: str) -> list[dict[str, Any]]:
        command = ("fields", "list", "--organization", acme, "--as-of", instant, "--json")
        fields: list[dict[str, Any]] = cli(*command).document()["recipient_fields"]
        return fields

    assert first.after is not None
    assert listed(format_instant(first.occurred_at)) == [rendered(first.after)]
    assert listed(format_instant(second.occurred_at)) == [rendered(tier)]
    assert len(listed("2099-01-01T00:00:00+02:00")) == 2


def test_a_time_before_the_history_is_a_failure(
    cli: CommandLine, acme: OrganizationId, manual: RecipientField
) -> None:
    run = cli("fields", "list", "--organization", acme, "--as-of", "2001-01-01T00:00:00Z")

    assert run.failure() == (
        "The history of this organization has no record up to this time. Use a later time, or list"
        " the current fields."
    )


@pytest.mark.parametrize(
    "text", ["yesterday", "2026-11-20", "2026-11-20T09:15:00", "0001-01-01T00:00:00+02:00", ""]
)
def test_a_malformed_time_is_a_usage_error(
    cli: CommandLine, acme: OrganizationId, text: str
) -> None:
    run = cli("fields", "list", "--organization", acme, "--as-of", text)

    assert run.usage_error() == (
        "Invalid value for '--as-of': use a time such as 2026-11-20T09:15:00Z."
    )


PRUNE = ("history", "prune", "--older-than", "400d", "--organization")


@pytest.fixture
def old_time(core: Core, acme: OrganizationId) -> datetime:
    """Create and delete a field 500 days ago, and create another one now. Return the first time."""
    now = core.fields.by(Author(ADMINISTRATOR))
    then = now.clock() - timedelta(days=500)
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
    assert [field.key for field in core.fields.list_fields(acme).fields] == ["new"]
    assert cli(*PRUNE, acme, "--yes").messages().startswith("Deleted 0 records ")


def test_pruning_is_limited_to_the_organization(
    cli: CommandLine, core: Core, acme: OrganizationId, old_time: datetime
) -> None:
    brewery = core.administration.create_organization("Brewery").id

    assert cli(*PRUNE, brewery, "--yes").messages().startswith("Deleted 0 records ")
    assert len(records(core, acme)) == 3


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


def test_pruning_without_a_terminal_requires_yes(
    cli: CommandLine, core: Core, acme: OrganizationId, old_time: datetime
) -> None:
    assert cli(*PRUNE, acme, stdin="").failure() == NOT_CONFIRMED
    assert len(records(core, acme)) == 3


def test_pruning_is_in_the_audit_log(
    cli: CommandLine, acme: OrganizationId, old_time: datetime, tmp_path: Path
) -> None:
    log = tmp_path / "audit.log"
    for _ in range(2):
        cli("history", "--audit-log", log, *PRUNE[1:], acme, "--yes")

    (line,) = map(json.loads, log.read_text("utf-8").splitlines())
    assert line["event"].startswith(f"History pruned: by operator, organization {acme}, records 2")
    assert (line["act"], line["records"], line["organization"]) == ("pruned", 2, acme)


@pytest.mark.parametrize("text", ["400", "1y", "never", "999999999d"])
def test_an_impossible_age_is_a_usage_error(
    cli: CommandLine, acme: OrganizationId, text: str
) -> None:
    run = cli("history", "prune", "--older-than", text, "--organization", acme, "--yes")

    assert "Invalid value for '--older-than': use a" in run.usage_error()
