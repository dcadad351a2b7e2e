"""Commands print documents to standard output, messages to standard error, and no traceback."""

from __future__ import annotations

import inspect
import os
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

import click
import pytest

from recipient_fields.entrypoints.cli.output import print_table

from ..docs.reference import commands as commands_of
from ..support.command_line import NOT_CONFIRMED, Script


@pytest.mark.parametrize(
    "command", [[], ["organizations"], ["keys"], ["fields"], ["serve"], ["fields", "update"]]
)
def test_every_command_prints_help(cli, command):
    for option in ("--help", "-h"):
        run = cli(*command, option)

        assert run.table()[0].startswith("Usage: ")
        assert run.err == ""


def test_the_version_is_printed(cli):
    assert cli("--version").table()[0].endswith(f"version {version('recipient-fields')}")


@pytest.mark.parametrize(
    "arguments",
    [
        ["nosuch"],
        ["keys", "nosuch"],
        ["keys", "list", "--nosuch"],
        ["organizations", "create", "Acme", "Globex"],
    ],
)
def test_an_unknown_command_or_option_is_a_usage_error(cli, arguments):
    assert cli(*arguments).usage_error()


def test_arguments_that_are_not_utf_8_are_reported_on_one_line(script, commands, manual):
    assert script("organizations", "create", b"caf\xe9").failure().startswith("name: ")
    bad = "caf\udce9"  # Python passes the bytes of a command line to a program in this form.
    for options in (
        ["--name", bad],
        [f"--insertion-code={bad}"],
        ["--allowed-values", f'["{bad}"]'],
    ):
        assert commands(f"fields update {manual.id}", *options).failure()


def test_output_is_utf_8_even_if_the_terminal_uses_latin_1(script):
    latin = {"PYTHONIOENCODING": "latin-1"}

    created = script("organizations", "create", "日本 Café", environment=latin)
    listed = script("organizations", "list", "--json", environment=latin)
    table = script("organizations", "list", environment=latin)

    assert created.status == 0
    assert listed.document() == {"organizations": [{"id": 1, "name": "日本 Café"}]}
    assert table.table() == ["ID  NAME", "1   日本 Café"]


@pytest.mark.parametrize("arguments", [["--json"], []])
def test_a_closed_pipe_is_not_reported(script, core, arguments):
    core.administration.create_organization("Acme")
    reading, writing = os.pipe()
    os.close(reading)
    try:
        run = script("organizations", "list", *arguments, stdout=writing)
    finally:
        os.close(writing)

    assert (run.status, run.err) == (1, "")


@pytest.mark.parametrize("arguments", [["--json"], []])
def test_a_full_disk_is_reported_on_one_line(arguments):
    with Path("/dev/full").open("wb") as full:
        run = Script("memory:")("organizations", "list", *arguments, stdout=full)

    assert run.failure() == "Can't write the output: No space left on device."


@pytest.mark.parametrize("reply", ["y\n", "n\n"])
def test_the_reply_at_a_terminal_confirms_or_aborts_the_command(script, core, acme, manual, reply):
    delete = ("fields", "delete", manual.key, "--organization", acme)

    status, shown = script.at_a_terminal(*delete, reply=reply)

    confirmed = reply == "y\n"
    assert "of organization 1, Acme? [y/N]" in shown
    assert status == (0 if confirmed else 1)
    assert shown.endswith(
        "Deleted field 1, Preferred shop.\r\n" if confirmed else "Nothing was changed.\r\n"
    )
    assert len(core.fields.list_fields(acme).fields) == (0 if confirmed else 1)


@pytest.mark.parametrize("stdin", [subprocess.DEVNULL, None])
def test_without_a_terminal_nothing_is_deleted(script, core, acme, manual, stdin):
    """Standard input is closed if `stdin` is None."""
    closing = {"preexec_fn": lambda: os.close(0)} if stdin is None else {}

    run = script("fields", "delete", manual.key, "--organization", acme, stdin=stdin, **closing)

    assert run.failure() == NOT_CONFIRMED
    assert core.fields.get_field(acme, manual.id) == manual


@pytest.mark.parametrize("command", [each for each in commands_of().values() if each.name])
def test_help_is_not_truncated_at_80_columns(command):
    """The help also omits the range of ids."""
    context = click.Context(command, info_name="recipient-fields", terminal_width=80)

    text = command.get_help(context)

    assert max(map(len, text.splitlines())) <= 80
    assert "..." not in text.partition("\n")[2]
    assert "9007199254740991" not in text
    shown = " ".join(text.split())
    for below in getattr(command, "commands", {}).values():
        summary = inspect.cleandoc(below.help or "").partition("\n\n")[0]
        assert f"{below.name} {' '.join(summary.split())}" in shown


def test_log_records_of_the_postgresql_driver_are_not_printed() -> None:
    program = """
import logging
from recipient_fields.entrypoints.cli import main
main(["openapi"], standalone_mode=False)
for name in ("psycopg", "psycopg.pool"):
    logging.getLogger(name).warning("error ignored terminating <psycopg.Copy [BAD] at 0x7f51>")
"""
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, check=True)

    assert run.stderr == b""


def test_columns_are_aligned_by_the_width_of_their_characters(capfd):
    print_table(("NAME", "KEY"), [("日本", "jp"), ("Tier", "tier"), ("e\u0301", "e")])

    assert capfd.readouterr().out.splitlines() == [
        "NAME  KEY",
        "日本  jp",
        "Tier  tier",
        "e\u0301     e",
    ]
