"""`recipient-fields organizations`."""

from __future__ import annotations

import pytest

from .commands import CommandLine


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
