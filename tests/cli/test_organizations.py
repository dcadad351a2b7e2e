"""`recipient-fields organizations`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click
import pytest

from recipient_fields.application import Core
from recipient_fields.domain import DataType, FieldDraft, OrganizationId, RecipientField
from recipient_fields.domain.esp import Esp, EspField, Integration

from ..support.command_line import NOT_CONFIRMED, CommandLine


def test_create_prints_the_organization_with_its_id(cli: CommandLine) -> None:
    run = cli("organizations", "create", "Acme", "--json")

    assert run.document() == {"organization": {"id": 1, "name": "Acme"}}
    assert run.err == ""


def test_create_without_json_tells_the_id_on_standard_error(cli: CommandLine) -> None:
    run = cli("organizations", "create", "Acme")

    assert run.told() == "Created organization 1, Acme.\n"
    assert run.out == ""


def test_list_prints_every_organization_by_ascending_id(cli: CommandLine) -> None:
    cli("organizations", "create", "Zebra")
    cli("organizations", "create", "Acme")

    assert cli("organizations", "list", "--json").document() == {
        "organizations": [{"id": 1, "name": "Zebra"}, {"id": 2, "name": "Acme"}]
    }


def test_list_prints_a_table_to_people(cli: CommandLine) -> None:
    cli("organizations", "create", "Zebra")

    assert cli("organizations", "list").table() == ["ID  NAME", "1   Zebra"]


def test_list_of_a_new_storage_is_empty(cli: CommandLine) -> None:
    cli("migrate")

    assert cli("organizations", "list", "--json").document() == {"organizations": []}
    assert cli("organizations", "list").table() == ["ID  NAME"]


def test_names_are_trimmed_composed_and_not_unique(cli: CommandLine) -> None:
    cli("organizations", "create", " Cafe\N{COMBINING ACUTE ACCENT} ")
    cli("organizations", "create", "Café")

    assert cli("organizations", "list", "--json").document() == {
        "organizations": [{"id": 1, "name": "Café"}, {"id": 2, "name": "Café"}]
    }


@pytest.mark.parametrize("name", ["", " ", "a" * 256, "two\nlines", "nul\0", "bytes \udcff"])
def test_a_name_that_is_not_one_line_of_1_to_255_characters_is_refused(
    cli: CommandLine, name: str
) -> None:
    assert cli("organizations", "create", name).failure().startswith("name: ")
    assert cli("organizations", "list", "--json").document() == {"organizations": []}


def test_the_name_is_required(cli: CommandLine) -> None:
    assert cli("organizations", "create").misuse() == "Missing argument 'NAME'."


def test_rename_takes_an_id_or_a_name(cli: CommandLine) -> None:
    cli("organizations", "create", "Acme")
    cli("organizations", "create", "Zebra")

    by_name = cli("organizations", "rename", "Acme", " Globex ", "--json").document()
    by_id = cli("organizations", "rename", 2, "Zoo").told()

    assert by_name == {"organization": {"id": 1, "name": "Globex"}}
    assert by_id == "Renamed organization 2, Zoo.\n"
    assert cli("organizations", "list").table() == ["ID  NAME", "1   Globex", "2   Zoo"]


@pytest.mark.parametrize("name", ["", " ", "a" * 256, "two\nlines"])
def test_a_renaming_to_an_invalid_name_changes_nothing(cli: CommandLine, name: str) -> None:
    cli("organizations", "create", "Acme")

    assert cli("organizations", "rename", "Acme", name).failure().startswith("name: ")
    assert cli("organizations", "list").table() == ["ID  NAME", "1   Acme"]


@pytest.fixture
def full(core: Core, acme: OrganizationId, manual: RecipientField) -> Integration:
    """Acme has a manual field, two keys, and an integration with a field."""
    for name in ("Backend", "CI"):
        core.administration.issue_key(acme, name=name)
    integration = core.integrations.create_integration(acme, esp=Esp.BRAZE, name="Main list")
    fields = [EspField(name="first_name", data_type=DataType.TEXT)]
    core.integrations.sync_fields(acme, integration.id, fields)
    return integration


@pytest.fixture
def globex(core: Core) -> OrganizationId:
    """Another organization, with a key and a field of its own."""
    organization = core.administration.create_organization("Globex")
    core.administration.issue_key(organization.id, name="Backend")
    core.fields.create_field(
        organization.id, FieldDraft(name="Preferred shop", data_type=DataType.TEXT)
    )
    return organization.id


QUESTION = "Delete organization 1, Acme, with 2 fields, 2 API keys and 1 integration?"


@pytest.mark.usefixtures("full")
def test_delete_names_what_it_deletes_and_touches_nothing_of_others(
    cli: CommandLine, core: Core, globex: OrganizationId
) -> None:
    before = (core.fields.list_fields(globex), core.administration.list_keys(globex))

    run = cli("organizations", "delete", "Acme", answer="y\n")

    assert run.told().startswith(QUESTION)
    assert run.err.endswith(
        "Deleted organization 1, Acme, with 2 fields, 2 API keys and 1 integration.\n"
    )
    assert cli("organizations", "list").table() == ["ID  NAME", "2   Globex"]
    assert (core.fields.list_fields(globex), core.administration.list_keys(globex)) == before


@pytest.mark.usefixtures("full")
@pytest.mark.parametrize("answer", ["n\n", "\n", ""])
def test_delete_keeps_the_organization_if_the_answer_is_not_yes(
    cli: CommandLine, core: Core, acme: OrganizationId, answer: str
) -> None:
    run = cli("organizations", "delete", "Acme", answer=answer)

    assert run.status == 1
    assert run.err.endswith("Aborted!\n")
    assert len(core.fields.list_fields(acme).fields) == 2


@pytest.mark.usefixtures("full")
def test_delete_keeps_the_organization_if_nobody_can_be_asked(
    cli: CommandLine, core: Core, acme: OrganizationId
) -> None:
    assert cli("organizations", "delete", acme, typed="y\n").failure() == NOT_CONFIRMED
    assert len(core.fields.list_fields(acme).fields) == 2


@pytest.mark.usefixtures("full")
def test_delete_does_not_ask_if_it_is_told_yes(cli: CommandLine, acme: OrganizationId) -> None:
    told = cli("organizations", "delete", acme, "--yes").told()

    assert told == "Deleted organization 1, Acme, with 2 fields, 2 API keys and 1 integration.\n"


def test_an_organization_that_changes_before_the_answer_is_not_deleted(
    cli: CommandLine, core: Core, acme: OrganizationId, monkeypatch: pytest.MonkeyPatch
) -> None:
    ask = click.confirm

    def confirm(*arguments: Any, **options: Any) -> bool:
        core.administration.issue_key(acme, name="Backend")
        return ask(*arguments, **options)

    monkeypatch.setattr(click, "confirm", confirm)
    run = cli("organizations", "delete", acme, answer="y\n")

    assert run.status == 1
    assert run.err.endswith(
        "Error: The organization's contents have changed. Read them again and retry.\n"
    )
    assert len(core.administration.list_keys(acme)) == 1


@pytest.mark.usefixtures("full")
def test_no_id_of_a_deleted_organization_is_assigned_again(cli: CommandLine) -> None:
    cli("organizations", "delete", "Acme", "--yes")
    organization = cli("organizations", "create", "Acme", "--json").document()["organization"]
    ours = ("--organization", "Acme", "--json")
    key = cli("keys", "create", "--name", "K", *ours).document()["api_key"]
    field = cli("fields", "create", "--name", "F", "--data-type", "text", *ours).document()
    create = ("integrations", "create", "--esp", "braze", "--name", "I")
    integration = cli(*create, *ours).document()["integration"]

    assert organization["id"] == 2
    assert (key["id"], field["recipient_field"]["id"], integration["id"]) == (3, 3, 2)


@pytest.mark.parametrize("name", ["Acme", " Acme ", "Cafe\N{COMBINING ACUTE ACCENT}", "1", "2"])
def test_an_organization_is_meant_by_its_id_or_exact_name(cli: CommandLine, name: str) -> None:
    for each in ("Acme", "Café", "1"):
        cli("organizations", "create", each)
    expected = {"Acme": 1, " Acme ": 1, "1": 1}.get(name, 2)

    created = cli("keys", "create", "--organization", name, "--name", "K")

    assert created.status == 0
    keys = cli("keys", "list", "--organization", expected, "--json").document()["api_keys"]
    assert len(keys) == 1


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        *((text, text) for text in ("Acm", "acme", "9", "0", "01", "-1", "1.0", "Globex, Inc.")),
        ("1" * 400, "1" * 400),
        ("\N{ARABIC-INDIC DIGIT ONE}", "\N{ARABIC-INDIC DIGIT ONE}"),
        ("two\nlines\x1b[31m", r"two\nlines\x1b[31m"),
    ],
    ids=lambda text: ascii(text[:20]),
)
@pytest.mark.parametrize(
    "command",
    [
        ("keys", "list", "--organization={}"),
        ("fields", "delete", "x", "--yes", "--organization={}"),
        ("integrations", "sync", "1", "--organization={}"),
        ("organizations", "rename", "--", "{}", "N"),
        ("organizations", "delete", "--yes", "--", "{}"),
    ],
    ids=lambda command: " ".join(command[:2]),
)
def test_an_organization_that_does_not_exist_is_reported_with_the_next_step(
    cli: CommandLine, acme: OrganizationId, command: tuple[str, ...], text: str, shown: str
) -> None:
    run = cli(*(part.format(text) for part in command))

    assert run.failure() == (
        f"There is no organization {shown}."
        " `recipient-fields organizations list` shows their ids and names."
    )


def test_a_name_of_several_organizations_is_rejected_with_their_ids(cli: CommandLine) -> None:
    for name in ("Acme", "Globex", "Acme"):
        cli("organizations", "create", name)

    for command in (("keys", "list", "--organization"), ("organizations", "delete", "--yes")):
        failure = cli(*command, "Acme").failure()
        assert failure == "2 organizations are called Acme. Use one of their ids: 1, 3."


def test_digits_are_an_id_also_with_white_space_around_them(cli: CommandLine) -> None:
    for name in ("Acme", "1", "3"):
        cli("organizations", "create", name)

    assert cli("organizations", "rename", " 1 ", "Ours").told() == "Renamed organization 1, Ours.\n"
    assert "Renamed organization 3, " in cli("organizations", "rename", "3\n", "Theirs").told()
    assert cli("keys", "list", "--organization", " 4").failure().startswith("There is no")


def test_a_name_that_would_steer_the_terminal_is_escaped_in_errors(cli: CommandLine) -> None:
    for _ in range(2):
        cli("organizations", "create", "Acme\u202ecod\u200f.\u061c")

    failure = cli("keys", "list", "--organization", "Acme\u202ecod\u200f.\u061c").failure()
    assert failure == (
        r"2 organizations are called Acme\u202ecod\u200f.\u061c. Use one of their ids: 1, 2."
    )


def test_a_path_that_would_steer_the_terminal_is_escaped_in_errors(file: Path) -> None:
    missing = CommandLine(f"sqlite:{file.parent}/\x1b[31m.db")

    assert r"/\x1b[31m.db." in missing("organizations", "list").failure()
    assert r"/\x1b[31m.db." in missing("copy", "--to", "memory:").failure()


@pytest.mark.parametrize(
    "command", [("fields", "list", "--organization"), ("organizations", "delete")]
)
@pytest.mark.parametrize("text", ["", " "])
def test_a_blank_organization_is_misuse(
    cli: CommandLine, command: tuple[str, ...], text: str
) -> None:
    misuse = cli(*command, text).misuse()

    assert misuse.endswith("use the id or the exact name of an organization, for example 1.")
