"""Each option can also be set as RECIPIENT_FIELDS_ and its name."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator

import click
import pytest

from recipient_fields.entrypoints.cli import main
from recipient_fields.entrypoints.cli.commands import Command, commands_of

from ...docs.reference import commands
from ...support.command_line import CommandLine

CREATE = ("fields", "create", "--organization", "1", "--name", "N", "--data-type", "text")
UPDATE = ("fields", "update", "preferred_shop", "--organization", "1")
KEYS_CREATE = ("keys", "create", "--organization", "1", "--name", "N")


def options(group: click.Group, path: str = "") -> Iterator[tuple[str, click.Option]]:
    """Yield every option of every command, except those like --help that only print text."""
    for command in (group, *commands_of(group).values()):
        name = path if command is group else f"{path} {command.name}"
        if isinstance(command, click.Group) and command is not group:
            yield from options(command, name)
            continue
        for parameter in command.params:
            if isinstance(parameter, click.Option) and not parameter.is_eager:
                yield f"{name} {parameter.opts[0]}".strip(), parameter


def test_every_option_has_a_variable_with_its_name() -> None:
    variables = {path: option.envvar for path, option in options(main)}
    names = {path: path.rpartition("--")[2].replace("-", "_").upper() for path in variables}

    assert variables == {path: f"RECIPIENT_FIELDS_{name}" for path, name in names.items()}


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
    cli, manual, command, variables, member, value
):
    full = ("--insertion-code", "x", "--value-expression", "y", "--allowed-values", '["z"]')
    assert cli(*UPDATE, *full).status == 0

    run = cli(*command, "--json", **{f"RECIPIENT_FIELDS_{k}": v for k, v in variables.items()})

    assert run.document()["recipient_field"][member] == value


def test_json_and_yes_can_be_set_in_the_environment(cli, manual):
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
def test_a_variable_is_validated_like_its_option(cli, acme, command, variable, value):
    message = cli(*command, **{f"RECIPIENT_FIELDS_{variable}": value}).usage_error()

    assert message.startswith(f"Invalid value for RECIPIENT_FIELDS_{variable}: ")


def test_an_empty_variable_is_ignored(cli, acme):
    empty = {"RECIPIENT_FIELDS_EXPIRES_IN": "", "RECIPIENT_FIELDS_READ_ONLY": ""}

    key = json.loads(cli(*KEYS_CREATE, "--json", **empty).out)["api_key"]

    assert key["access"] == "read_write"
    assert key["expires_at"] is not None


def test_the_storage_option_takes_precedence_over_its_variable(cli):
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
def test_an_unknown_variable_is_reported_without_its_value(variable, message):
    name = f"RECIPIENT_FIELDS_{variable}"

    run = CommandLine("memory:")("organizations", "list", **{name: "secret"})

    assert run.messages() == f"Warning: {name} is not a setting.{message}\n"
    assert run.table() == ["ID  NAME"]


@pytest.mark.parametrize(
    "command", [("serve",), ("migrate",), ("organizations", "create", "Acme")], ids=" ".join
)
def test_a_command_that_creates_a_storage_rejects_an_unknown_variable(
    command, tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)

    run = CommandLine("memory:")(*command, RECIPIENT_FIELDS_STORGE="postgresql://u:p@h/d")

    assert run.failure() == (
        "RECIPIENT_FIELDS_STORGE is not a setting. Did you mean RECIPIENT_FIELDS_STORAGE?"
        " Correct or remove it: with a misspelled setting, this command could use another storage."
    )
    assert list(tmp_path.iterdir()) == []


def test_a_variable_of_an_earlier_version_is_only_a_warning() -> None:
    run = CommandLine("memory:")("organizations", "create", "Acme", RECIPIENT_FIELDS_ANY_CPU="1")

    assert run.messages() == (
        "Warning: RECIPIENT_FIELDS_ANY_CPU has no effect any more: remove it.\n"
        "Created organization 1, Acme.\n"
    )


def test_the_variables_of_kubernetes_are_ignored_and_a_similar_one_of_a_user_is_not() -> None:
    create = ("organizations", "create", "Acme")
    of_kubernetes = {
        "SERVICE_HOST": "10.0.0.7",
        "SERVICE_PORT": "80",
        "SERVICE_PORT_HTTP": "80",
        "PORT": "tcp://10.0.0.7:80",
        "PORT_80_TCP": "tcp://10.0.0.7:80",
        "PORT_80_TCP_PROTO": "tcp",
        "PORT_80_TCP_PORT": "80",
        "PORT_80_TCP_ADDR": "10.0.0.7",
        "ADMIN_SERVICE_HOST": "10.0.0.8",
        "ADMIN_PORT": "tcp://10.0.0.8:9100",
    }
    variables = {f"RECIPIENT_FIELDS_{name}": value for name, value in of_kubernetes.items()}

    assert CommandLine("memory:")(*create, **variables).messages() == (
        "Created organization 1, Acme.\n"
    )
    users = CommandLine("memory:")(*create, RECIPIENT_FIELDS_PORT="8080").failure()
    assert users.startswith("RECIPIENT_FIELDS_PORT is not a setting.")


CHANGING = {
    "migrate",
    "apply",
    "history prune",
    *(f"organizations {verb}" for verb in ("create", "rename", "delete")),
    *(f"keys {verb}" for verb in ("create", "revoke", "rotate")),
    *(f"administrators {verb}" for verb in ("invite", "reset", "revoke")),
    *(f"fields {verb}" for verb in ("create", "update", "delete", "restore")),
    *(
        f"integrations {verb}"
        for verb in ("create", "rename", "delete", "sync", "restore", "names", "match")
    ),
    *(f"integrations {verb}" for verb in ("connect", "disconnect", "schedule", "sync-due")),
    "secrets rotate",
}


def test_the_storage_can_be_in_a_file(tmp_path):
    file = tmp_path / "storage"
    file.write_text(f"sqlite:{tmp_path}/a.db\n")
    command, create = CommandLine(""), ("organizations", "create", "Acme")
    variables = {"RECIPIENT_FIELDS_STORAGE_FILE": str(file)}

    created = command(*create, **variables)
    both = CommandLine("memory:")(*create, **variables)
    file.write_bytes(b"sqlite:a\0.db")
    null = command(*create, **variables)
    file.write_text("\n")
    empty = command(*create, **variables)
    file.write_bytes(b"\xff")
    unreadable = command(*create, **variables)
    file.unlink()
    os.mkfifo(file)
    pipe = command(*create, **variables)
    file.unlink()
    file.mkdir()
    folder = command(*create, **variables)
    file.rmdir()
    missing = command(*create, **variables)

    assert created.storage == f"Storage: sqlite:{tmp_path}/a.db\n"
    assert both.failure() == (
        "RECIPIENT_FIELDS_STORAGE and RECIPIENT_FIELDS_STORAGE_FILE are both set. Unset one of"
        " them."
    )
    assert null.failure().endswith("names, contains a null character. Remove it.")
    assert empty.failure() == (
        f"{file}, which RECIPIENT_FIELDS_STORAGE_FILE names, is empty. Write the value into it."
    )
    where = f"Can't read {file}, which RECIPIENT_FIELDS_STORAGE_FILE names"
    assert missing.failure() == f"{where}: No such file or directory."
    assert unreadable.failure() == f"{where}: it is not UTF-8."
    assert pipe.failure() == folder.failure() == f"{where}: it is not a regular file."


def test_the_credentials_of_an_esp_can_be_in_files(cli, acme, tmp_path):
    key, variables = tmp_path / "key", {"RECIPIENT_FIELDS_BRAZE_URL": "http://127.0.0.1:9"}
    cli("integrations", "create", "--organization", acme, "--esp", "braze", "--name", "App")
    sync = ("integrations", "sync", 1, "--organization", acme)
    file = {"RECIPIENT_FIELDS_BRAZE_API_KEY_FILE": str(key)}

    unreadable = cli(*sync, **variables, **file).failure()
    key.write_text("a-key\n")
    warning, read = cli(*sync, **variables, **file).err.splitlines()

    assert "RECIPIENT_FIELDS_BRAZE_API_KEY_FILE names: No such file" in unreadable
    assert warning.startswith("Warning: the credentials are in environment variables,")
    assert "BRAZE_API_KEY" not in read


def test_commands_that_change_a_storage_print_it() -> None:
    changing = set()
    for name, each in commands().items():
        if not isinstance(each, click.Group):
            assert isinstance(each, Command)
            changing |= {name} if each.changes_storage else set()

    assert changing == CHANGING


def test_the_storage_is_printed_first_without_credentials_and_not_beside_json(
    tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    create = ("organizations", "create", "Acme")
    run = CommandLine("sqlite:a.db")(*create)
    unreachable = CommandLine("postgresql://me:s3cret@127.0.0.1:1/fields?pool_size=4")(*create)

    assert run.storage == f"Storage: sqlite:{tmp_path}/a.db\n"
    assert unreachable.storage == "Storage: postgresql://127.0.0.1:1/fields\n"
    assert CommandLine("memory:")(*create, "--json").storage == ""
    assert CommandLine("memory:")("organizations", "list").storage == ""


@pytest.mark.parametrize("variable", ["NOT_INSERTABLE", "BRAZE_URL", "INTROSPECTION_TOKEN"])
def test_a_known_variable_is_not_reported(variable):
    run = CommandLine("memory:")("organizations", "list", **{f"RECIPIENT_FIELDS_{variable}": "1"})

    assert run.messages() == ""
