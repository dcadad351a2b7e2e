"""What the commands import: the start of each command takes as long as its imports."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from recipient_fields.entrypoints.cli import main
from recipient_fields.entrypoints.cli.commands import LazyCommand

from ...docs.reference import commands

_IMPORTED = """
import sys
old = {*sys.modules}
try:
    from recipient_fields.entrypoints.__main__ import main
    main()
finally:
    print("imported:", *sys.modules.keys() - old)
"""
PACKAGE = "recipient_fields"
CONTENT = {
    f"{PACKAGE}.{name}"
    for name in (
        "application.content.content",
        "domain.content.syntax",
        "domain.esp.conditions",
        "domain.esp.content",
        "domain.esp.recognition",
    )
}
"""Modules that only commands for content, conditions and codes need."""


def imported(*arguments: str, **variables: str) -> set[str]:
    """Return the modules that the command imports, without those of the standard library."""
    run = subprocess.run(
        (sys.executable, "-c", _IMPORTED, *arguments),
        env=variables,
        capture_output=True,
        text=True,
        check=True,
    )
    *_, modules = run.stdout.partition("imported: ")
    return {
        name for name in modules.split() if name.partition(".")[0] not in sys.stdlib_module_names
    }


def distributions(modules: set[str]) -> set[str]:
    return {name.partition(".")[0] for name in modules}


def rooms(modules: set[str]) -> set[str]:
    """Return the modules of the command line, without those in its folder."""
    start = f"{PACKAGE}.entrypoints.cli."
    return {each for name in modules if "." in (each := name.removeprefix(start)) and each != name}


@pytest.fixture
def storage(tmp_path: Path) -> str:
    """Return the URL of a storage with the organization 1."""
    url = f"sqlite:{tmp_path / 'fields.db'}"
    main(["organizations", "create", "Acme", "--storage", url], standalone_mode=False)
    return url


@pytest.mark.parametrize("arguments", [("--version",), ("--help",)])
def test_version_and_help_import_no_command_and_no_service(arguments):
    modules = imported(*arguments)

    assert distributions(modules) == {PACKAGE, "attr", "attrs", "click", "setproctitle"}
    assert rooms(modules) == set()
    assert {each for each in modules if each.startswith(f"{PACKAGE}.domain.")} == {
        f"{PACKAGE}.domain.errors",
        f"{PACKAGE}.domain.identity",
        f"{PACKAGE}.domain.lazy_names",
    }


def test_the_help_of_a_command_imports_only_its_module() -> None:
    assert rooms(imported("fields", "--help")) == {"fields.fields"}
    assert rooms(imported("fields", "list", "--help")) == {"fields.fields", "fields.listing"}


def test_a_list_of_fields_imports_neither_other_commands_nor_what_is_for_content(storage):
    modules = imported("fields", "list", "--organization", "1", "--storage", storage)

    assert distributions(modules) == {PACKAGE, "attr", "attrs", "click", "setproctitle"}
    assert rooms(modules) == {"fields.fields", "fields.listing"}
    assert not CONTENT & modules


def test_variables_of_options_import_no_other_command(storage):
    modules = imported(
        *("fields", "list", "--organization", "1"),
        RECIPIENT_FIELDS_STORAGE=storage,
        RECIPIENT_FIELDS_LISTEN="127.0.0.1:0",
        RECIPIENT_FIELDS_SERVICE_HOST="10.0.0.1",
    )

    assert rooms(modules) == {"fields.fields", "fields.listing"}


def test_only_the_commands_that_need_the_http_service_import_it(storage):
    modules = imported(
        *("fields", "list", "--organization", "1", "--storage", storage),
        RECIPIENT_FIELDS_LISTN="127.0.0.1:0",  # To suggest another, it imports all commands.
    )

    assert {"service.serve", "service.storages"} <= rooms(modules)
    assert not {"falcon", "waitress", "prometheus_client"} & modules


def test_a_service_without_metrics_does_not_import_prometheus() -> None:
    code = "import sys, recipient_fields.entrypoints.cli.service.process; print(*sys.modules)"
    command = (sys.executable, "-c", code)
    modules = subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()

    assert {"falcon", "waitress", "prometheus_client"} & {*modules} == {"falcon", "waitress"}


def _lazy_commands(typed: str, command: click.Command) -> Iterator[tuple[str, LazyCommand]]:
    for name, each in command.commands.items() if isinstance(command, click.Group) else ():
        if isinstance(each, LazyCommand):
            yield f"{typed} {name}".strip(), each
            yield from _lazy_commands(f"{typed} {name}".strip(), each.load())


@pytest.mark.parametrize(
    ("typed", "lazy"), [pytest.param(t, each, id=t) for t, each in _lazy_commands("", main)]
)
def test_the_summary_of_a_command_is_the_beginning_of_its_help(typed, lazy):
    command = commands()[typed]
    assert lazy.short_help is not None
    assert command.short_help is not None
    assert lazy.short_help.split() == command.short_help.split()
    assert command.name == lazy.name
