"""Each option can also be set as RECIPIENT_FIELDS_ and its name."""

from __future__ import annotations

import json
from collections.abc import Iterator

import click
import pytest

from recipient_fields.domain import OrganizationId, RecipientField
from recipient_fields.entrypoints.cli import main

from ..support.command_line import CommandLine

CREATE = ("fields", "create", "--organization", "1", "--name", "N", "--data-type", "text")
UPDATE = ("fields", "update", "preferred_shop", "--organization", "1")
KEYS_CREATE = ("keys", "create", "--organization", "1", "--name", "N")


def options(group: click.Group, path: str = "") -> Iterator[tuple[str, click.Option]]:
    """Yield every option of every command, except those like --help that only print text."""
    for command in (group, *group.commands.values()):
        name = path if command is group else f"{path} {command.name}"
        if isinstance(command, click.Group) and command is not group:
            yield from options(command, name)
            continue
        for parameter in command.params:
            if isinstance(parameter, click.Option) and not parameter.is_eager:
                yield f"{name} {parameter.opts[0]}".strip(), parameter


@pytest.mark.parametrize("option", [pytest.param(o, id=name) for name, o in options(main)])
def test_every_option_has_a_variable_with_its_name(option: click.Option) -> None:
    name = option.opts[0].removeprefix("--").replace("-", "_").upper()

    assert option.envvar == f"RECIPIENT_FIELDS_{name}"


@pytest.mark.parametrize(
    ("command", "variables", "member", "value"),
    [
        (
            ("fields", "create"),
            {"ORGANIZATION": "1", "NAME": "N", "DATA_TYPE": "date"},
            "data_type",
            "date",
        ),
        (CREATE, {"ALLOWED_VALUES": '["new york"]'}, "allowed_values", ["new york"]),
        (CREATE, {"NOT_INSERTABLE": "1"}, "insertable", False),
        (CREATE, {"NOT_INSERTABLE": "false"}, "insertable", True),
        (CREATE, {"INSERTION_CODE": "{{n}}"}, "custom_insertion_code", "{{n}}"),
        (UPDATE, {"ALLOWED_VALUES": "null"}, "allowed_values", None),
        (UPDATE, {"INSERTABLE": "false"}, "insertable", False),
        (UPDATE, {"NOT_INSERTABLE": "yes"}, "insertable", False),
        (UPDATE, {"NOT_INSERTABLE": "no"}, "insertable", True),
        ((*UPDATE, "--insertable"), {"NOT_INSERTABLE": "yes"}, "insertable", True),
        (UPDATE, {"CLEAR": "allowed-values value-expression"}, "custom_value_expression", None),
        ((*UPDATE, "--name", "Option"), {"NAME": "Variable"}, "name", "Option"),
    ],
    ids=str,
)
def test_a_variable_has_the_effect_of_its_option_and_the_option_takes_precedence(
    cli: CommandLine,
    manual: RecipientField,
    command: tuple[str, ...],
    variables: dict[str, str],
    member: str,
    value: object,
) -> None:
    full = ("--insertion-code", "x", "--value-expression", "y", "--allowed-values", '["z"]')
    assert cli(*UPDATE, *full).status == 0

    run = cli(*command, "--json", **{f"RECIPIENT_FIELDS_{k}": v for k, v in variables.items()})

    assert run.document()["recipient_field"][member] == value


def test_json_and_yes_can_be_set_in_the_environment(
    cli: CommandLine, manual: RecipientField
) -> None:
    listed = cli("fields", "list", "--organization", 1, RECIPIENT_FIELDS_JSON="1")
    deleted = cli("fields", "delete", manual.id, "--organization", 1, RECIPIENT_FIELDS_YES="1")

    assert [field["id"] for field in listed.document()["recipient_fields"]] == [manual.id]
    assert deleted.messages() == "Deleted field 1, Preferred shop.\n"


@pytest.mark.parametrize(
    ("command", "variable", "value"),
    [
        (KEYS_CREATE, "EXPIRES_IN", "12x"),
        (CREATE, "ALLOWED_VALUES", "["),
        (UPDATE, "NOT_INSERTABLE", "perhaps"),
        (UPDATE, "CLEAR", "name"),
        (("organizations", "list"), "JSON", "perhaps"),
    ],
)
def test_a_variable_is_validated_like_its_option(
    cli: CommandLine,
    acme: OrganizationId,
    command: tuple[str, ...],
    variable: str,
    value: str,
) -> None:
    message = cli(*command, **{f"RECIPIENT_FIELDS_{variable}": value}).usage_error()

    assert message.startswith("Invalid value for '--")


def test_an_empty_variable_is_ignored(cli: CommandLine, acme: OrganizationId) -> None:
    empty = {"RECIPIENT_FIELDS_EXPIRES_IN": "", "RECIPIENT_FIELDS_READ_ONLY": ""}

    key = json.loads(cli(*KEYS_CREATE, "--json", **empty).out)["api_key"]

    assert key["access"] == "read_write"
    assert key["expires_at"] is not None


def test_the_storage_option_takes_precedence_over_its_variable(cli: CommandLine) -> None:
    run = cli("--storage", "memory:", "organizations", "list", RECIPIENT_FIELDS_STORAGE="nosuch:")

    assert run.table() == ["ID  NAME"]


@pytest.mark.parametrize(
    ("variable", "message"),
    [
        ("THREAD", " Did you mean RECIPIENT_FIELDS_THREADS?"),
        ("SERVE_LISTN", " Did you mean RECIPIENT_FIELDS_LISTEN?"),
        ("LISTN", " Did you mean RECIPIENT_FIELDS_LISTEN?"),
        ("MAILCHIMP_APIKEY", " Did you mean RECIPIENT_FIELDS_MAILCHIMP_API_KEY?"),
        ("X", ""),
    ],
)
def test_an_unknown_variable_is_reported_without_its_value(variable: str, message: str) -> None:
    name = f"RECIPIENT_FIELDS_{variable}"

    run = CommandLine("memory:")("organizations", "list", **{name: "secret"})

    assert run.messages() == f"Warning: {name} is not a setting.{message}\n"
    assert run.table() == ["ID  NAME"]


@pytest.mark.parametrize(
    "variable", ["TEST_LOAD", "NOT_INSERTABLE", "BRAZE_URL", "INTROSPECTION_TOKEN"]
)
def test_a_known_variable_is_not_reported(variable: str) -> None:
    run = CommandLine("memory:")("organizations", "list", **{f"RECIPIENT_FIELDS_{variable}": "1"})

    assert run.messages() == ""
