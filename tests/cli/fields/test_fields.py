"""The commands `recipient-fields fields`, for an organization with a manual field."""

from __future__ import annotations

import json
from fnmatch import fnmatchcase

import pytest

from recipient_fields.domain import (
    ADMINISTRATOR,
    Denied,
    Operation,
    decide,
)

from ...support.integrations import add_integration
from ...support.interruptions import delete_integrations_after_a_taken_key
from ..stories import rendered

pytestmark = pytest.mark.usefixtures("manual")


def test_list_prints_every_field_as_the_api_renders_it(commands, foreign):
    document = commands("fields list --json").document()

    assert document == {"recipient_fields": commands.stored}
    assert [field["key"] for field in commands.stored] == ["preferred_shop", foreign.key]


def test_list_prints_a_table_by_default(commands):
    assert commands("fields list").table() == [
        "ID  KEY             NAME            TYPE  SOURCE  ALLOWED VALUES",
        "1   preferred_shop  Preferred shop  text  manual  -",
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
def test_list_shortens_long_allowed_values(commands, values, shown):
    commands.changed(f"fields update 1 --allowed-values '{json.dumps(values)}'")

    _, row = commands("fields list").table()

    assert row.endswith(f"  manual  {shown}")


def test_show_prints_every_member_as_the_api_renders_it(commands):
    for reference in ("1", "preferred_shop"):
        shown = commands(f"fields show {reference} --json").document()
        assert [shown] == [{"recipient_field": each} for each in commands.stored]


def test_show_prints_a_table_by_default(commands):
    created = commands.changed(
        "fields create --name Größe --data-type number --key size --allowed-values 36,37.5"
        " --insertion-code '{{\n}}'"
    )

    assert commands("fields show size").table()[:14] == [
        "MEMBER                   VALUE",
        "id                       2",
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


def test_create_stores_every_option_in_a_manual_field(commands):
    created = commands.changed(
        "fields create --name Größe --data-type number --key size --allowed-values '[36, 37.5]'"
        " --not-insertable --insertion-code '%%=v(@size)=%%' --value-expression @size"
    )

    assert created == {
        "id": 2,
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
        "created_at": created["created_at"],
        "updated_at": created["created_at"],
    }
    assert commands.stored[1:] == [created]


KEY_NOTICE = "The key will be grosse. It can't be changed later; use --key to choose another."
PROMPT = "Create the field? [Y/n]"


def test_create_prints_the_derived_key_to_standard_error(commands):
    run = commands("fields create --name Größe --data-type text")
    json_run = commands("fields create --name 'Größe 2' --data-type text --json")

    assert run.messages() == f"{KEY_NOTICE}\nCreated field 2, Größe, with the key grosse.\n"
    assert run.out == ""
    assert json_run.document()["recipient_field"]["key"] == "grosse_2"
    assert json_run.messages().startswith("The key will be grosse_2. ")


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
    commands, script, reply, options, status, keys, printed
):
    create = ("fields", "create", "--organization", commands.organization)
    arguments = ("--name", "Größe", "--data-type", "text", *options)
    ended, shown = script.at_a_terminal(*create, *arguments, reply=reply)

    assert (ended, [field["key"] for field in commands.stored[1:]]) == (status, keys)
    found = [each for each in (KEY_NOTICE, PROMPT, "Created") if each in shown]
    assert sorted(found, key=shown.index) == printed


def test_the_key_of_a_synced_field_is_reported_with_its_esp_names_if_it_still_exists(
    commands, monkeypatch
):
    core, acme = commands.core, commands.organization
    add_integration(core, acme, "braze", "Emails", "Tier")
    add_integration(core, acme, "sfmc", "Journeys")
    create = "fields create --name N --key tier --data-type text"

    assert commands(create).failure().endswith("Its names there: Tier at Emails, tier at Journeys.")

    delete_integrations_after_a_taken_key(monkeypatch, core, acme)

    assert commands(create).failure().startswith("A synced field has this key")
    assert [field["key"] for field in commands.stored] == ["preferred_shop"]


@pytest.mark.parametrize("missing", ["--organization", "--name", "--data-type"])
def test_create_reports_a_missing_option(cli, missing):
    options = {"--organization": "1", "--name": "N", "--data-type": "text"}
    del options[missing]

    run = cli("fields", "create", *(part for option in options.items() for part in option))

    assert run.usage_error().startswith(f"Missing option '{missing}'.")


CHANGED: dict[str, dict[str, object]] = {
    "preferred_shop --name 'Favourite shop'": {"name": "Favourite shop"},
    "1 --name S": {"name": "S"},
    """1 --allowed-values '["Rome"]'""": {"allowed_values": ["Rome"]},
    "1 --not-insertable": {"insertable": False},
    "1 --insertion-code {{shop}}": {"custom_insertion_code": "{{shop}}"},
    "1 --value-expression shop": {"custom_value_expression": "shop"},
    "1 --name S --insertion-code s --not-insertable": {
        "name": "S",
        "custom_insertion_code": "s",
        "insertable": False,
    },
}


@pytest.mark.parametrize(("options", "members"), CHANGED.items(), ids=CHANGED)
def test_update_changes_only_the_members_of_its_options(commands, options, members):
    (before,) = commands.stored
    updated = commands.changed(f"fields update {options}")

    assert updated["updated_at"] > updated["created_at"]
    assert updated == {**before, **members, "updated_at": updated["updated_at"]}
    assert commands.stored == [updated]
    message = f"Updated field 1, {updated['name']}, with the key preferred_shop.\n"
    assert commands(f"fields update {options}").messages() == message


@pytest.mark.parametrize("clearing", ["--clear allowed-values", "--allowed-values null"])
def test_optional_members_can_be_cleared_at_once(commands, clearing):
    members = ("allowed_values", "custom_insertion_code", "custom_value_expression")
    values = """--allowed-values '["a"]' --insertion-code x --value-expression y"""
    field = commands.changed(f"fields update 1 {values}")
    assert [field[member] for member in members] == [["a"], "x", "y"]

    texts = "--clear insertion-code --clear value-expression"
    field = commands.changed(f"fields update 1 {clearing} {texts}")

    assert [field[member] for member in members] == [None] * 3


MISSING = (
    "There is no such recipient field in this organization."
    " `recipient-fields fields list` shows their ids and keys."
)
CREATE = "create --name Shop --data-type text"
REFUSED = {
    "create --name '' --data-type text": (1, "name: *"),
    "create --name Цена --data-type text": (
        1,
        "key: A key can be derived only from letters a-z and digits 0-9*",
    ),
    f"{CREATE} --key 'shop\n'": (1, "key: *"),
    f"{CREATE} --key \udcff": (1, "key: *"),
    f"{CREATE} --insertion-code ''": (1, "custom_insertion_code: *"),
    f"{CREATE} --value-expression a\0b": (1, "custom_value_expression: *"),
    f"{CREATE} --key preferred_shop": (1, "A recipient field with this key already exists.*"),
    "show 2": (1, MISSING),
    "update --name N 2": (1, MISSING),
    "delete --yes 2": (1, MISSING),
    "show -- shop": (1, MISSING),
    "update --name N -- 01": (1, MISSING),
    "delete --yes -- 9007199254740992": (1, MISSING),
    "show Shop": (1, MISSING),
    "update --name N ''": (1, MISSING),
    "delete --yes \udcff": (1, MISSING),
    "update 1 --insertion-code x --clear insertion-code": (
        2,
        "Use either --insertion-code or --clear insertion-code.*",
    ),
    "update 1 --clear name": (2, "*'name' is not one of 'allowed-values'*"),
    "update 1": (2, "Nothing to change: use at least one of the options.*"),
}
"""The status and the message of each command, as a pattern. Status 2 is a usage error."""


@pytest.mark.parametrize(("command", "outcome"), REFUSED.items(), ids=map(ascii, REFUSED))
def test_a_refused_command_reports_the_reason_and_changes_nothing(commands, command, outcome):
    status, message = outcome
    before = commands.stored

    run = commands(f"fields {command}")

    assert fnmatchcase(run.failure() if status == 1 else run.usage_error(), message)
    assert commands.stored == before


@pytest.mark.parametrize(
    ("command", "operation"),
    [
        ("update --name 'Mine now'", Operation.UPDATE),
        ("delete --yes", Operation.DELETE),
        ("delete", Operation.DELETE),
    ],
)
def test_a_field_of_another_origin_is_not_changed_and_the_reason_is_reported(
    commands, foreign, command, operation
):
    decision = decide(ADMINISTRATOR, operation, foreign.origin)
    assert isinstance(decision, Denied)

    assert commands(f"fields {command} {foreign.key}", reply="y\n").failure() == decision.reason
    assert commands.stored[1:] == [rendered(foreign)]


@pytest.mark.parametrize(
    ("options", "reply", "prompts", "status", "message"),
    [
        ("", "y\n", True, 0, "Deleted field 1, Preferred shop.\n"),
        ("", "n\n", True, 1, "Nothing was changed.\n"),
        ("--yes", None, False, 0, "Deleted field 1, Preferred shop.\n"),
    ],
)
def test_delete_prompts_unless_it_is_confirmed(commands, options, reply, prompts, status, message):
    before = commands.stored

    run = commands(f"fields delete preferred_shop {options}", reply=reply)

    prompt = (
        "Delete field 1, Preferred shop, with the key preferred_shop, of organization 1, Acme?"
        " [y/N]: "
    )
    assert (prompt in run.err) is prompts
    assert run.err.endswith(message) if prompts else run.err == message
    assert (run.status, run.out) == (status, "")
    assert commands.stored == (before if status else [])
