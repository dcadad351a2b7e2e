"""The commands `recipient-fields fields`."""

from __future__ import annotations

import json
from typing import Any

import pytest

from recipient_fields.application import Core, render_field
from recipient_fields.application.documents.strict_json import render_json
from recipient_fields.domain import (
    ADMINISTRATOR,
    DataType,
    Denied,
    Operation,
    OrganizationId,
    RecipientField,
    decide,
)
from recipient_fields.domain.esp import Esp
from recipient_fields.domain.integrations import EspField

from ...support.command_line import CommandLine, Script
from ...support.interruptions import delete_integrations_after_a_taken_key


def stored(core: Core, organization: OrganizationId) -> list[dict[str, Any]]:
    return [rendered(field) for field in core.fields.list_fields(organization).fields]


def rendered(field: RecipientField) -> dict[str, Any]:
    document: dict[str, Any] = json.loads(render_json(render_field(field)))
    return document


def test_list_prints_every_field_as_the_api_renders_it(
    cli: CommandLine,
    core: Core,
    acme: OrganizationId,
    manual: RecipientField,
    foreign: RecipientField,
) -> None:
    document = cli("fields", "list", "--organization", acme, "--json").document()

    assert document == {"recipient_fields": stored(core, acme)}
    assert [field["id"] for field in document["recipient_fields"]] == [manual.id, foreign.id]


def test_list_prints_a_table_by_default(
    cli: CommandLine, acme: OrganizationId, manual: RecipientField
) -> None:
    assert cli("fields", "list", "--organization", acme).table() == [
        "ID  KEY             NAME            TYPE  SOURCE  ALLOWED VALUES",
        f"{manual.id:<2}  preferred_shop  Preferred shop  text  manual  -",
    ]


@pytest.mark.parametrize(
    ("values", "shown"),
    [
        (["gold", "silver"], "gold, silver"),
        (["two\u202e words", "b"], "two\\u202e words, b"),
        ([f"{n:04}" for n in range(1_000)], "0000, 0001, 0002, 0003, 0004, 0005, 000…"),
        (["x" * 40], "x" * 40),
        (["x" * 41], "x" * 39 + "…"),
    ],
    ids=["short", "escaped", "many", "just fits", "too long"],
)
def test_list_shortens_long_allowed_values(
    cli: CommandLine, acme: OrganizationId, manual: RecipientField, values: list[str], shown: str
) -> None:
    update = ("fields", "update", manual.id, "--organization", acme)
    assert cli(*update, "--allowed-values", json.dumps(values)).status == 0

    _, row = cli("fields", "list", "--organization", acme).table()

    assert row.endswith(f"  manual  {shown}")


def test_show_prints_every_member_as_the_api_renders_it(
    cli: CommandLine, acme: OrganizationId, manual: RecipientField
) -> None:
    for reference in (manual.id, manual.key):
        shown = cli("fields", "show", reference, "--organization", acme, "--json").document()
        assert shown == {"recipient_field": rendered(manual)}


def test_show_prints_a_table_by_default(cli: CommandLine, acme: OrganizationId) -> None:
    created = cli(
        *("fields", "create", "--organization", acme, "--json"),
        *("--name", "Größe", "--data-type", "number", "--key", "size"),
        *("--allowed-values", "36,37.5", "--insertion-code", "{{\n}}"),
    ).document()["recipient_field"]

    assert cli("fields", "show", "size", "--organization", acme).table()[:14] == [
        "MEMBER                   VALUE",
        "id                       1",
        "name                     Größe",
        "key                      size",
        "data_type                number",
        "allowed_values           [36,37.5]",
        "insertable               true",
        "source                   manual",
        "integration_id           -",
        "esp_field_name           -",
        r"custom_insertion_code    {{\n}}",
        "custom_value_expression  -",
        f"created_at               {created['created_at']}",
        f"updated_at               {created['updated_at']}",
    ]


def test_create_stores_every_option_in_a_manual_field(
    cli: CommandLine, core: Core, acme: OrganizationId
) -> None:
    created = cli(
        *("fields", "create", "--organization", acme, "--json"),
        *("--name", "Größe", "--data-type", "number", "--key", "size"),
        *("--allowed-values", "[36, 37.5]", "--not-insertable"),
        *("--insertion-code", "%%=v(@size)=%%", "--value-expression", "@size"),
    ).document()

    created_at = created["recipient_field"]["created_at"]
    assert created == {
        "recipient_field": {
            "id": 1,
            "name": "Größe",
            "key": "size",
            "data_type": "number",
            "allowed_values": [36, 37.5],
            "insertable": False,
            "source": "manual",
            "integration_id": None,
            "esp_field_name": None,
            "custom_insertion_code": "%%=v(@size)=%%",
            "custom_value_expression": "@size",
            "created_at": created_at,
            "updated_at": created_at,
        }
    }
    assert stored(core, acme) == [created["recipient_field"]]


def test_create_without_json_prints_the_id_and_the_key(
    cli: CommandLine, acme: OrganizationId
) -> None:
    run = cli("fields", "create", "--organization", acme, "--name", "Shop", "--data-type", "text")

    assert run.messages() == (
        "The key will be shop. It can't be changed later; use --key to choose another.\n"
        "Created field 1, Shop, with the key shop.\n"
    )
    assert run.out == ""


def test_create_with_json_prints_the_derived_key_to_standard_error(
    cli: CommandLine, acme: OrganizationId
) -> None:
    arguments = ("--organization", acme, "--name", "Größe", "--data-type", "text", "--json")

    run = cli("fields", "create", *arguments)

    assert run.document()["recipient_field"]["key"] == "grosse"
    assert run.messages().startswith("The key will be grosse. ")


KEY_NOTICE = "The key will be grosse. It can't be changed later; use --key to choose another."
PROMPT = "Create the field? [Y/n]"


@pytest.mark.parametrize(
    ("reply", "options", "status", "keys", "printed"),
    [
        ("\n", [], 0, ["grosse"], [KEY_NOTICE, PROMPT, "Created"]),
        ("y\n", [], 0, ["grosse"], [KEY_NOTICE, PROMPT, "Created"]),
        ("n\n", [], 1, [], [KEY_NOTICE, PROMPT]),
        ("\x04", [], 1, [], [KEY_NOTICE, PROMPT]),
        ("", ["--yes"], 0, ["grosse"], [KEY_NOTICE, "Created"]),
        ("", ["--key", "size"], 0, ["size"], ["Created"]),
    ],
    ids=["Enter", "y", "n", "end of input", "--yes", "--key"],
)
def test_create_at_a_terminal_requires_confirmation_only_of_a_derived_key(
    script: Script,
    core: Core,
    acme: OrganizationId,
    reply: str,
    options: list[str],
    status: int,
    keys: list[str],
    printed: list[str],
) -> None:
    name = ("--name", "Größe", "--data-type", "text")
    arguments = ("--organization", str(acme), *name, *options)
    ended, shown = script.at_a_terminal("fields", "create", *arguments, reply=reply)

    assert (ended, [field["key"] for field in stored(core, acme)]) == (status, keys)
    assert (
        sorted((each for each in (KEY_NOTICE, PROMPT, "Created") if each in shown), key=shown.index)
        == printed
    )


def test_a_taken_key_is_reported(
    cli: CommandLine, core: Core, acme: OrganizationId, manual: RecipientField
) -> None:
    arguments = ("--organization", acme, "--name", "N", "--key", manual.key, "--data-type", "text")

    run = cli("fields", "create", *arguments)

    assert run.failure().startswith("A recipient field with this key already exists.")
    assert stored(core, acme) == [rendered(manual)]


def test_the_key_of_a_synced_field_is_reported_with_its_esp_names_if_it_still_exists(
    cli: CommandLine, core: Core, acme: OrganizationId, monkeypatch: pytest.MonkeyPatch
) -> None:
    emails = core.integrations.create_integration(acme, esp=Esp.BRAZE, name="Emails")
    core.integrations.create_integration(acme, esp=Esp.SALESFORCE, name="Journeys")
    tier = EspField(name="Tier", data_type=DataType.TEXT)
    core.integrations.sync_fields(acme, emails.id, [tier])

    arguments = ("--organization", acme, "--name", "N", "--key", "tier", "--data-type", "text")
    run = cli("fields", "create", *arguments)

    assert run.failure().endswith("Its names there: Tier at Emails, tier at Journeys.")

    delete_integrations_after_a_taken_key(monkeypatch, core, acme)
    run = cli("fields", "create", *arguments)

    assert run.failure().startswith("A synced field has this key")
    assert stored(core, acme) == []


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"name": ""}, "name: "),
        ({"name": "Цена"}, "key: A key can be derived only from letters a-z and digits 0-9"),
        ({"key": "shop\n"}, "key: "),
        ({"key": "\udcff"}, "key: "),
        ({"insertion-code": ""}, "custom_insertion_code: "),
        ({"value-expression": "a\0b"}, "custom_value_expression: "),
    ],
    ids=ascii,
)
def test_an_invalid_member_is_reported_on_one_line_and_nothing_is_stored(
    cli: CommandLine, core: Core, acme: OrganizationId, options: dict[str, str], message: str
) -> None:
    usual = {"organization": str(acme), "name": "Shop", "data-type": "text"}
    arguments = [f"--{name}={value}" for name, value in {**usual, **options}.items()]

    assert cli("fields", "create", *arguments, "--json").failure().startswith(message)
    assert stored(core, acme) == []


@pytest.mark.parametrize("missing", ["--organization", "--name", "--data-type"])
def test_create_reports_a_missing_option(cli: CommandLine, missing: str) -> None:
    options = {"--organization": "1", "--name": "N", "--data-type": "text"}
    del options[missing]

    run = cli("fields", "create", *(part for option in options.items() for part in option))

    assert run.usage_error().startswith(f"Missing option '{missing}'.")


@pytest.mark.parametrize(
    ("options", "members"),
    [
        (["--name", "Favourite shop"], {"name": "Favourite shop"}),
        (["--allowed-values", '["Rome"]'], {"allowed_values": ["Rome"]}),
        (["--not-insertable"], {"insertable": False}),
        (["--insertion-code", "{{shop}}"], {"custom_insertion_code": "{{shop}}"}),
        (["--value-expression", "shop"], {"custom_value_expression": "shop"}),
        (
            ["--name", "S", "--insertion-code", "s", "--not-insertable"],
            {"name": "S", "custom_insertion_code": "s", "insertable": False},
        ),
    ],
)
def test_update_changes_only_the_members_of_its_options(
    cli: CommandLine,
    core: Core,
    acme: OrganizationId,
    manual: RecipientField,
    options: list[str],
    members: dict[str, object],
) -> None:
    updated = cli(
        "fields", "update", manual.key, "--organization", acme, *options, "--json"
    ).document()["recipient_field"]

    assert updated["updated_at"] > updated["created_at"]
    assert updated == {
        **rendered(manual),
        **members,
        "updated_at": updated["updated_at"],
    }
    assert stored(core, acme) == [updated]


def test_update_accepts_an_id_or_a_key(
    cli: CommandLine, acme: OrganizationId, manual: RecipientField
) -> None:
    message = "Updated field 1, S, with the key preferred_shop.\n"

    for reference in (manual.id, manual.key):
        run = cli("fields", "update", reference, "--organization", acme, "--name", "S")
        assert run.messages() == message


@pytest.mark.parametrize("clearing", [["--clear", "allowed-values"], ["--allowed-values", "null"]])
def test_optional_members_can_be_cleared_at_once(
    cli: CommandLine, acme: OrganizationId, manual: RecipientField, clearing: list[str]
) -> None:
    update = ("fields", "update", manual.id, "--organization", acme, "--json")
    options = ("--allowed-values", '["a"]', "--insertion-code", "x", "--value-expression", "y")
    members = ("allowed_values", "custom_insertion_code", "custom_value_expression")
    field = cli(*update, *options).document()["recipient_field"]
    assert [field[member] for member in members] == [["a"], "x", "y"]

    texts = ("--clear", "insertion-code", "--clear", "value-expression")
    field = cli(*update, *clearing, *texts).document()["recipient_field"]

    assert [field[member] for member in members] == [None] * 3


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            ["--insertion-code", "x", "--clear", "insertion-code"],
            "Use either --insertion-code or --clear insertion-code.",
        ),
        (["--clear", "name"], "'name' is not one of 'allowed-values'"),
        ([], "Nothing to change: use at least one of the options."),
    ],
    ids=["set and clear", "required", "none"],
)
def test_an_update_with_contradictory_or_no_options_is_a_usage_error(
    cli: CommandLine,
    core: Core,
    acme: OrganizationId,
    manual: RecipientField,
    options: list[str],
    message: str,
) -> None:
    run = cli("fields", "update", manual.id, "--organization", acme, *options)

    assert message in run.usage_error()
    assert stored(core, acme) == [rendered(manual)]


@pytest.mark.parametrize(
    ("command", "operation"),
    [
        (["update", "--name", "Mine now"], Operation.UPDATE),
        (["delete", "--yes"], Operation.DELETE),
        (["delete"], Operation.DELETE),
    ],
    ids=["update", "delete", "without a prompt"],
)
def test_a_field_of_another_origin_is_not_changed_and_the_reason_is_reported(
    cli: CommandLine,
    core: Core,
    acme: OrganizationId,
    foreign: RecipientField,
    command: list[str],
    operation: Operation,
) -> None:
    decision = decide(ADMINISTRATOR, operation, foreign.origin)
    assert isinstance(decision, Denied)

    run = cli("fields", *command, "--organization", acme, foreign.key, reply="y\n")

    assert run.failure() == decision.reason
    assert stored(core, acme) == [rendered(foreign)]


@pytest.mark.parametrize("confirmed", [True, False])
def test_delete_prompts_and_deletes_the_field_only_if_the_reply_is_yes(
    cli: CommandLine, core: Core, acme: OrganizationId, manual: RecipientField, confirmed: bool
) -> None:
    reply = "y\n" if confirmed else "n\n"

    run = cli("fields", "delete", manual.key, "--organization", acme, reply=reply)

    assert (
        "Delete field 1, Preferred shop, with the key preferred_shop, of organization 1, Acme?"
        " [y/N]: "
    ) in run.err
    assert run.err.endswith(
        "Deleted field 1, Preferred shop.\n" if confirmed else "Nothing was changed.\n"
    )
    assert (run.status, run.out) == (0 if confirmed else 1, "")
    assert stored(core, acme) == ([] if confirmed else [rendered(manual)])


def test_delete_with_yes_does_not_prompt(
    cli: CommandLine, core: Core, acme: OrganizationId, manual: RecipientField
) -> None:
    run = cli("fields", "delete", manual.id, "--organization", acme, "--yes")

    assert run.messages() == "Deleted field 1, Preferred shop.\n"
    assert stored(core, acme) == []


@pytest.mark.parametrize("reference", ["2", "shop", "01", "9007199254740992", "Shop", "", "\udcff"])
@pytest.mark.parametrize("command", [["show"], ["update", "--name", "N"], ["delete", "--yes"]])
def test_a_missing_field_is_reported(
    cli: CommandLine,
    acme: OrganizationId,
    manual: RecipientField,
    command: list[str],
    reference: str,
) -> None:
    run = cli("fields", *command, "--organization", acme, "--", reference)

    assert run.failure() == (
        "There is no such recipient field in this organization."
        " `recipient-fields fields list` shows their ids and keys."
    )
