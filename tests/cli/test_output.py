"""Documents go to standard output, everything else to standard error, and never a traceback."""

from __future__ import annotations

import os
import resource
from pathlib import Path

import pytest

from recipient_fields.domain import OrganizationId, RecipientField
from recipient_fields.entrypoints.composition import Core

from .commands import CommandLine, Script


@pytest.mark.parametrize(
    "command", [[], ["organizations"], ["keys"], ["fields"], ["serve"], ["fields", "update"]]
)
def test_every_command_explains_itself(cli: CommandLine, command: list[str]) -> None:
    for option in ("--help", "-h"):
        run = cli(*command, option)

        assert run.table()[0].startswith("Usage: ")
        assert run.err == ""


def test_the_version_is_printed(cli: CommandLine) -> None:
    assert cli("--version").table()[0].endswith("version 0.1.0")


@pytest.mark.parametrize(
    "arguments",
    [
        ["nosuch"],
        ["keys", "nosuch"],
        ["keys", "list", "--nosuch"],
        ["organizations", "create", "Acme", "Globex"],
        ["organizations", "list", "--storage", "memory:"],
    ],
)
def test_what_is_no_command_or_option_is_misuse(cli: CommandLine, arguments: list[str]) -> None:
    assert cli(*arguments).misuse()


def test_bytes_that_are_no_text_are_one_clear_line(
    script: Script, acme: OrganizationId, manual: RecipientField
) -> None:
    bad = b"caf\xe9"
    update = ("fields", "update", manual.id, "--organization", acme)

    assert script("organizations", "create", bad).failure().startswith("name: ")
    assert script(*update, "--name", bad).failure()
    assert script(*update, b"--insertion-code=" + bad).failure()
    assert script(*update, "--allowed-values", b'["' + bad + b'"]').failure()


def test_documents_are_utf_8_whatever_the_terminal_reads(script: Script) -> None:
    latin = {"PYTHONIOENCODING": "latin-1"}

    told = script("organizations", "create", "日本 Café", environment=latin)
    listed = script("organizations", "list", "--json", environment=latin)
    table = script("organizations", "list", environment=latin)

    assert told.status == 0
    assert listed.document() == {"organizations": [{"id": 1, "name": "日本 Café"}]}
    assert table.table() == ["ID  NAME", "1   日本 Café"]


@pytest.mark.parametrize("arguments", [["--json"], []])
def test_a_reader_that_has_gone_is_no_failure_to_speak_of(
    script: Script, core: Core, arguments: list[str]
) -> None:
    core.administration.create_organization("Acme")
    reading, writing = os.pipe()
    os.close(reading)
    try:
        run = script("organizations", "list", *arguments, stdout=writing)
    finally:
        os.close(writing)

    assert run.err == ""


@pytest.mark.parametrize("arguments", [["--json"], []])
def test_output_that_can_not_be_written_is_one_clear_line(
    tmp_path: Path, arguments: list[str]
) -> None:
    with (tmp_path / "out").open("wb") as out:
        run = Script("memory:")(
            *("organizations", "list", *arguments),
            stdout=out,
            preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0)),
        )

    assert run.failure() == "Can't write the output: File too large."


def test_nobody_at_the_terminal_means_no(
    script: Script, core: Core, acme: OrganizationId, manual: RecipientField
) -> None:
    run = script("fields", "delete", manual.key, "--organization", acme)

    assert (run.status, run.out) == (1, "")
    assert run.err.endswith("Aborted!\n")
    assert core.fields.get_field(acme, manual.id) == manual
