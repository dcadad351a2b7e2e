"""The commands `recipient-fields organizations`."""

from __future__ import annotations

from typing import Any

import click
import pytest

from recipient_fields.application import Core
from recipient_fields.domain import OrganizationId, RecipientField
from recipient_fields.domain.integrations import Integration

from ...support.command_line import CommandLine
from ...support.integrations import add_integration


def test_create_prints_the_organization_with_its_id(cli):
    run = cli("organizations", "create", "Acme", "--json")

    assert run.document() == {"organization": {"id": 1, "name": "Acme"}}
    assert run.err == ""


def test_create_without_json_prints_the_id_to_standard_error(cli):
    run = cli("organizations", "create", "Acme")

    assert run.messages() == "Created organization 1, Acme.\n"
    assert run.out == ""


def test_list_prints_every_organization_by_ascending_id(cli):
    cli("organizations", "create", "Zebra")
    cli("organizations", "create", "Acme")

    assert cli("organizations", "list").table() == ["ID  NAME", "1   Zebra", "2   Acme"]
    assert cli("organizations", "list", "--json").document() == {
        "organizations": [{"id": 1, "name": "Zebra"}, {"id": 2, "name": "Acme"}]
    }


def test_list_of_a_new_storage_is_empty(cli):
    cli("migrate")

    assert cli("organizations", "list", "--json").document() == {"organizations": []}
    assert cli("organizations", "list").table() == ["ID  NAME"]


@pytest.mark.parametrize("name", ["", "two\nlines", "bytes \udcff"])
def test_an_invalid_name_is_rejected(cli, acme, name):
    for command in (("create",), ("rename", acme)):
        assert cli("organizations", *command, name).failure().startswith("name: ")
    assert cli("organizations", "list").table() == ["ID  NAME", "1   Acme"]


def test_rename_accepts_an_id_or_a_name(cli):
    cli("organizations", "create", "Acme")
    cli("organizations", "create", "Zebra")

    by_name = cli("organizations", "rename", "Acme", " Globex ", "--json").document()
    by_id = cli("organizations", "rename", 2, "Zoo").messages()

    assert by_name == {"organization": {"id": 1, "name": "Globex"}}
    assert by_id == "Renamed organization 2, Zoo.\n"
    assert cli("organizations", "list").table() == ["ID  NAME", "1   Globex", "2   Zoo"]


@pytest.fixture
def full(core: Core, acme: OrganizationId, manual: RecipientField) -> Integration:
    """Add two keys and an integration with a field to Acme, which has a manual field."""
    for name in ("Backend", "CI"):
        core.administration.issue_key(acme, name=name)
    return add_integration(core, acme, "braze", "Main list", "first_name")


DESCRIBED = "organization 1, Acme, with 2 fields, 2 API keys, 1 integration and 0 administrators"


@pytest.mark.usefixtures("full")
@pytest.mark.parametrize("confirmed", [True, False])
def test_delete_describes_the_organization_and_prompts(cli, confirmed):
    run = cli("organizations", "delete", "Acme", reply="y\n" if confirmed else "n\n")

    assert run.err.startswith(f"Delete {DESCRIBED}?")
    assert run.err.endswith(f"Deleted {DESCRIBED}.\n" if confirmed else "Nothing was changed.\n")
    assert run.status == (0 if confirmed else 1)
    rows = [] if confirmed else ["1   Acme"]
    assert cli("organizations", "list").table() == ["ID  NAME", *rows]


@pytest.mark.usefixtures("full")
def test_delete_with_yes_does_not_prompt(cli, acme):
    message = cli("organizations", "delete", acme, "--yes").messages()

    assert message == f"Deleted {DESCRIBED}.\n"


def test_an_organization_that_changes_before_the_reply_is_not_deleted(cli, core, acme, monkeypatch):
    original = click.confirm

    def confirm(*arguments: Any, **options: Any) -> bool:
        core.administration.issue_key(acme, name="Backend")
        return original(*arguments, **options)

    monkeypatch.setattr(click, "confirm", confirm)
    run = cli("organizations", "delete", acme, reply="y\n")

    assert run.status == 1
    assert run.err.endswith(
        "Error: The organization's contents have changed. Read them again and retry.\n"
    )
    assert len(core.administration.list_keys(acme)) == 1


@pytest.mark.parametrize("name", ["Acme", " Acme ", "Cafe\N{COMBINING ACUTE ACCENT}", "1", "2"])
def test_an_organization_is_identified_by_its_id_or_exact_name(cli, name):
    for each in ("Acme", "Café", "1"):
        cli("organizations", "create", each)
    expected = {"Acme": 1, " Acme ": 1, "1": 1}.get(name, 2)

    created = cli("keys", "create", "--organization", name, "--name", "K")

    assert created.status == 0
    keys = cli("keys", "list", "--organization", expected, "--json").document()["api_keys"]
    assert len(keys) == 1


@pytest.mark.parametrize(
    ("command", "text", "shown"),
    [
        *(
            (("keys", "list", "--organization={}"), text, text)
            for text in (
                *("Acm", "acme", "9", "0", "01", "-1", "1.0", "Globex, Inc.", "1" * 400),
                "\N{ARABIC-INDIC DIGIT ONE}",
            )
        ),
        (("fields", "delete", "x", "--yes", "--organization={}"), "\x1b[31m", r"\x1b[31m"),
        (("integrations", "sync", "1", "--organization={}"), "9", "9"),
        (("organizations", "rename", "--", "{}", "N"), "two\nlines", r"two\nlines"),
        (("organizations", "delete", "--yes", "--", "{}"), "9", "9"),
    ],
    ids=lambda value: ascii(value)[:50],
)
def test_an_organization_that_does_not_exist_is_reported_with_the_next_step(
    cli, acme, command, text, shown
):
    run = cli(*(part.format(text) for part in command))

    assert run.failure() == (
        f"There is no organization {shown}."
        " `recipient-fields organizations list` shows their ids and names."
    )


def test_a_name_of_several_organizations_is_rejected_with_their_ids(cli):
    for name in ("Acme", "Globex", "Acme"):
        cli("organizations", "create", name)

    for command in (("keys", "list", "--organization"), ("organizations", "delete", "--yes")):
        failure = cli(*command, "Acme").failure()
        assert failure == "2 organizations are called Acme. Use one of their ids: 1, 3."


def test_digits_surrounded_by_white_space_are_an_id(cli):
    for name in ("Acme", "1", "3"):
        cli("organizations", "create", name)

    assert (
        cli("organizations", "rename", " 1 ", "Globex").messages()
        == "Renamed organization 1, Globex.\n"
    )
    assert "Renamed organization 3, " in cli("organizations", "rename", "3\n", "Zebra").messages()
    assert cli("keys", "list", "--organization", " 4").failure().startswith("There is no")


def test_control_characters_of_a_name_are_escaped_in_errors(cli):
    for _ in range(2):
        cli("organizations", "create", "Acme\u202ecod\u200f.\u061c")

    failure = cli("keys", "list", "--organization", "Acme\u202ecod\u200f.\u061c").failure()
    assert failure == (
        r"2 organizations are called Acme\u202ecod\u200f.\u061c. Use one of their ids: 1, 2."
    )


def test_control_characters_of_a_path_are_escaped_in_errors(file):
    missing = CommandLine(f"sqlite:{file.parent}/\x1b[31m.db")

    assert r"/\x1b[31m.db." in missing("organizations", "list").failure()
    assert r"/\x1b[31m.db." in missing("copy", "--to", "memory:").failure()


@pytest.mark.parametrize(
    "command", [("fields", "list", "--organization"), ("organizations", "delete")]
)
@pytest.mark.parametrize("text", ["", " "])
def test_a_blank_organization_is_a_usage_error(cli, command, text):
    message = cli(*command, text).usage_error()

    assert message.endswith("use the id or the exact name of an organization, for example 1.")
