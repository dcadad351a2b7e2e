"""The commands `recipient-fields fields`."""

from __future__ import annotations

import json
from typing import Any

import pytest

from recipient_fields.application import Core, render_field
from recipient_fields.application.strict_json import render_json
from recipient_fields.domain import (
    ADMINISTRATOR,
    Denied,
    Operation,
    OrganizationId,
    RecipientField,
    decide,
)

from ..support.command_line import NOT_CONFIRMED, CommandLine, Script

NOT_FOUND = "There is no such recipient field in this organization."


def stored(core: Core, organization: OrganizationId) -> list[dict[str, Any]]:
    return [rendered(field) for field in core.fields.list_fields(organization).fields]


def rendered(field: RecipientField) -> dict[str, Any]:
    document: dict[str, Any] = json.loads(render_json(render_field(field)))
    return document


def reason(operation: Operation, field: RecipientField) -> str:
    decision = decide(ADMINISTRATOR, operation, field.origin)
    assert isinstance(decision, Denied)
    return decision.reason


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

    assert cli("fields", "show", "size", "--organization", acme).table() == [
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


def test_show_prints_fields_of_every_origin(
    cli: CommandLine, acme: OrganizationId, foreign: RecipientField
) -> None:
    shown = cli("fields", "show", foreign.key, "--organization", acme, "--json").document()

    assert shown == {"recipient_field": rendered(foreign)}


def test_delete_keeps_the_field_without_a_terminal_or_yes(
    cli: CommandLine, core: Core, acme: OrganizationId, manual: RecipientField
) -> None:
    run = cli("fields", "delete", manual.key, "--organization", acme, stdin="y\n")

    assert run.failure() == NOT_CONFIRMED
    assert stored(core, acme) == [rendered(manual)]


def test_list_prints_only_the_fields_of_the_organization(
    cli: CommandLine, core: Core, manual: RecipientField
) -> None:
    other = core.administration.create_organization("Globex").id

    assert cli("fields", "list", "--organization", other, "--json").document() == {
        "recipient_fields": []
    }


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


@pytest.mark.parametrize("data_type", ["text", "number", "boolean", "date", "datetime"])
def test_create_requires_only_a_name_and_a_data_type(
    cli: CommandLine, acme: OrganizationId, data_type: str
) -> None:
    arguments = ("--organization", acme, "--name", "Day one", "--data-type", data_type)

    field = cli("fields", "create", *arguments, "--json").document()["recipient_field"]

    assert field["key"] == "day_one"
    assert field["data_type"] == data_type
    assert field["insertable"] is True
    assert field["allowed_values"] is None


def test_create_without_json_prints_the_id_and_the_key(
    cli: CommandLine, acme: OrganizationId
) -> None:
    run = cli("fields", "create", "--organization", acme, "--name", "Shop", "--data-type", "text")

    assert run.messages() == (
        "The key will be shop. It can't be changed later; use --key to choose another.\n"
        "Created field 1, Shop, with the key shop.\n"
    )
    assert run.out == ""


def test_create_with_a_key_does_not_print_the_key_in_advance(
    cli: CommandLine, acme: OrganizationId
) -> None:
    arguments = ("--organization", acme, "--name", "Größe", "--key", "size", "--data-type", "text")

    assert cli("fields", "create", *arguments).messages() == (
        "Created field 1, Größe, with the key size.\n"
    )


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


@pytest.mark.parametrize("name", ["Цена", "Størrelse", "---"])
def test_create_requires_a_key_if_none_can_be_derived(
    cli: CommandLine, acme: OrganizationId, name: str
) -> None:
    arguments = ("--organization", acme, "--name", name, "--data-type", "text")

    assert cli("fields", "create", *arguments).failure() == (
        "key: A key can be derived only from letters a-z and digits 0-9, with or without accents."
        " Send a key, such as `loyalty_tier`."
    )


def test_a_taken_key_is_reported(
    cli: CommandLine, core: Core, acme: OrganizationId, foreign: RecipientField
) -> None:
    arguments = ("--organization", acme, "--name", "N", "--key", foreign.key, "--data-type", "text")

    run = cli("fields", "create", *arguments)

    assert run.failure().startswith("A recipient field with this key already exists.")
    assert len(stored(core, acme)) == 1


@pytest.mark.parametrize(
    "options",
    [
        {"name": ""},
        {"name": "a" * 256},
        {"name": "two\nlines"},
        {"name": "\udcff"},
        {"name": "日本"},
        {"name": "Null"},
        {"key": ""},
        {"key": "Shop"},
        {"key": "shop\n"},
        {"key": "null"},
        {"key": "sys_shop"},
        {"key": "\udcff"},
        {"insertion-code": ""},
        {"insertion-code": "x" * 10_001},
        {"insertion-code": "\udcff"},
        {"value-expression": ""},
        {"value-expression": "x" * 2_001},
        {"value-expression": "a\0b"},
    ],
    ids=ascii,
)
def test_an_invalid_member_is_reported_on_one_line_and_nothing_is_stored(
    cli: CommandLine, core: Core, acme: OrganizationId, options: dict[str, str]
) -> None:
    usual = {"organization": str(acme), "name": "Shop", "data-type": "text"}
    arguments = [f"--{name}={value}" for name, value in {**usual, **options}.items()]

    assert cli("fields", "create", *arguments, "--json").failure()
    assert stored(core, acme) == []


def test_an_unknown_data_type_is_a_usage_error(cli: CommandLine, acme: OrganizationId) -> None:
    arguments = ("--organization", acme, "--name", "N", "--data-type", "Text")

    assert (
        "'text', 'number', 'boolean', 'date', 'datetime'"
        in cli("fields", "create", *arguments).usage_error()
    )


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


def test_an_update_without_a_change_keeps_the_time_of_the_last_change(
    cli: CommandLine, acme: OrganizationId, manual: RecipientField
) -> None:
    arguments = ("--organization", acme, "--insertable", "--name", manual.name, "--json")

    updated = cli("fields", "update", manual.id, *arguments).document()

    assert updated == {"recipient_field": rendered(manual)}


@pytest.mark.parametrize(
    ("setting", "clearing", "member"),
    [
        (["--allowed-values", '["a"]'], ["--clear", "allowed-values"], "allowed_values"),
        (["--allowed-values", '["a"]'], ["--allowed-values", "null"], "allowed_values"),
        (["--insertion-code", "x"], ["--clear", "insertion-code"], "custom_insertion_code"),
        (["--value-expression", "x"], ["--clear", "value-expression"], "custom_value_expression"),
    ],
)
def test_an_optional_member_can_be_cleared(
    cli: CommandLine,
    acme: OrganizationId,
    manual: RecipientField,
    setting: list[str],
    clearing: list[str],
    member: str,
) -> None:
    update = ("fields", "update", manual.id, "--organization", acme, "--json")

    assert cli(*update, *setting).document()["recipient_field"][member] is not None
    assert cli(*update, *clearing).document()["recipient_field"][member] is None


def test_several_members_can_be_cleared_at_once(
    cli: CommandLine, acme: OrganizationId, manual: RecipientField
) -> None:
    update = ("fields", "update", manual.id, "--organization", acme, "--json")
    cli(*update, "--insertion-code", "x", "--value-expression", "y")

    field = cli(*update, "--clear", "insertion-code", "--clear", "value-expression").document()

    assert field["recipient_field"]["custom_insertion_code"] is None
    assert field["recipient_field"]["custom_value_expression"] is None


def test_setting_and_clearing_the_same_member_is_a_usage_error(
    cli: CommandLine, core: Core, acme: OrganizationId, manual: RecipientField
) -> None:
    update = ("fields", "update", manual.id, "--organization", acme)

    run = cli(*update, "--insertion-code", "x", "--clear", "insertion-code")

    assert run.usage_error() == "Use either --insertion-code or --clear insertion-code."
    assert stored(core, acme) == [rendered(manual)]


def test_a_required_member_can_not_be_cleared(
    cli: CommandLine, acme: OrganizationId, manual: RecipientField
) -> None:
    run = cli("fields", "update", manual.id, "--organization", acme, "--clear", "name")

    assert "'name' is not one of 'allowed-values'" in run.usage_error()


def test_an_update_without_options_is_a_usage_error(
    cli: CommandLine, acme: OrganizationId, manual: RecipientField
) -> None:
    run = cli("fields", "update", manual.id, "--organization", acme)

    assert run.usage_error() == "Nothing to change: use at least one of the options."


@pytest.mark.parametrize(
    "options", [["--name", ""], ["--insertion-code", ""], ["--name", "\udcff"]]
)
def test_an_invalid_update_changes_nothing(
    cli: CommandLine,
    core: Core,
    acme: OrganizationId,
    manual: RecipientField,
    options: list[str],
) -> None:
    assert cli("fields", "update", manual.id, "--organization", acme, *options).failure()
    assert stored(core, acme) == [rendered(manual)]


def test_a_field_of_another_origin_is_not_updated_and_the_reason_is_reported(
    cli: CommandLine, core: Core, acme: OrganizationId, foreign: RecipientField
) -> None:
    run = cli("fields", "update", foreign.id, "--organization", acme, "--name", "Mine now")

    assert run.failure() == reason(Operation.UPDATE, foreign)
    assert stored(core, acme) == [rendered(foreign)]


@pytest.mark.parametrize("options", [["--yes"], []])
def test_a_field_of_another_origin_is_not_deleted_and_no_prompt_is_shown(
    cli: CommandLine,
    core: Core,
    acme: OrganizationId,
    foreign: RecipientField,
    options: list[str],
) -> None:
    run = cli("fields", "delete", foreign.key, "--organization", acme, *options, reply="y\n")

    assert run.failure() == reason(Operation.DELETE, foreign)
    assert stored(core, acme) == [rendered(foreign)]


@pytest.mark.parametrize("reply", ["y\n", "yes\n", "Y\n", "what?\ny\n"])
def test_delete_prompts_and_deletes_the_field_if_the_reply_is_yes(
    cli: CommandLine, core: Core, acme: OrganizationId, manual: RecipientField, reply: str
) -> None:
    run = cli("fields", "delete", manual.key, "--organization", acme, reply=reply)

    assert (
        "Delete field 1, Preferred shop, with the key preferred_shop, of organization 1, Acme?"
        " [y/N]: "
    ) in run.messages()
    assert run.err.endswith("Deleted field 1, Preferred shop.\n")
    assert run.out == ""
    assert stored(core, acme) == []


@pytest.mark.parametrize("reply", ["n\n", "no\n", "\n", "", "what?\n"])
def test_delete_keeps_the_field_if_the_reply_is_not_yes(
    cli: CommandLine, core: Core, acme: OrganizationId, manual: RecipientField, reply: str
) -> None:
    run = cli("fields", "delete", manual.key, "--organization", acme, reply=reply)

    assert (run.status, run.out) == (1, "")
    assert run.err.endswith("Aborted!\n")
    assert stored(core, acme) == [rendered(manual)]


def test_delete_with_yes_does_not_prompt(
    cli: CommandLine, core: Core, acme: OrganizationId, manual: RecipientField
) -> None:
    run = cli("fields", "delete", manual.id, "--organization", acme, "--yes")

    assert run.messages() == "Deleted field 1, Preferred shop.\n"
    assert stored(core, acme) == []


@pytest.mark.parametrize(
    "reference",
    [
        "2",
        "shop",
        "01",
        "+1",
        "1_0",
        "\N{ARABIC-INDIC DIGIT TWO}",
        "9007199254740992",
        "Shop",
        "a b",
        "",
        "\udcff",
    ],
)
@pytest.mark.parametrize("command", [["show"], ["update", "--name", "N"], ["delete", "--yes"]])
def test_a_missing_field_is_reported(
    cli: CommandLine,
    acme: OrganizationId,
    manual: RecipientField,
    command: list[str],
    reference: str,
) -> None:
    run = cli("fields", *command, "--organization", acme, "--", reference)

    assert run.failure() == NOT_FOUND


@pytest.mark.parametrize("command", [["show"], ["update", "--name", "N"], ["delete", "--yes"]])
def test_a_field_of_another_organization_is_not_found(
    cli: CommandLine, core: Core, manual: RecipientField, command: list[str]
) -> None:
    other = core.administration.create_organization("Globex").id

    for reference in (manual.id, manual.key):
        assert cli("fields", *command, "--organization", other, reference).failure() == NOT_FOUND


@pytest.mark.parametrize(
    "command",
    [["list"], ["create", "--name", "N", "--key", "n", "--data-type", "text"]],
    ids=["list", "create"],
)
def test_an_unknown_organization_is_reported(cli: CommandLine, command: list[str]) -> None:
    cli("migrate")

    run = cli("fields", *command, "--organization", 12345, "--json")

    assert run.failure().startswith("There is no organization 12345.")
