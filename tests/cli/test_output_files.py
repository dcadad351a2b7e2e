"""The outputs of `recipients check`, which are written completely or not at all."""

from __future__ import annotations

import os
import resource
import signal
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from recipient_fields.application import Core
from recipient_fields.domain import OrganizationId

from ..support.command_line import SCRIPT, CommandLine, Run, Script
from ..support.fields import add_field
from ..support.service import WITHOUT_DAC_OVERRIDE
from ..support.waiting import TIMEOUT, eventually

ROWS = b"comment\n" + b"x\n" * 100_000
"""More than the buffers of the command contain."""


@pytest.fixture(autouse=True)
def _fields(core: Core, acme: OrganizationId) -> None:
    add_field(core, acme, "Tier", allowed_values=["gold", "silver"])
    add_field(core, acme, "Comment")


@pytest.fixture
def out(tmp_path: Path) -> Path:
    return tmp_path / "good.csv"


@pytest.fixture
def check(cli: CommandLine, acme: OrganizationId, tmp_path: Path) -> Callable[..., Run]:
    """Return a function that checks a file with a valid row and an invalid row."""
    (tmp_path / "list.csv").write_text("tier\ngold\ngolf\n")

    def check(*arguments: str | Path) -> Run:
        return cli("recipients", "check", tmp_path / "list.csv", "--organization", acme, *arguments)

    return check


def is_hidden(path: Path, of: Path) -> bool:
    return path.name.startswith(f".{of.name}.")


def names(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()}


@contextmanager
def checking(
    script: Script, organization: OrganizationId, out: Path, **settings: Any
) -> Iterator[subprocess.Popen[bytes]]:
    """Run a check that has written a part of its output, and waits for the rest of the list."""
    command = ("recipients", "check", "-", "--organization", organization, "--out", str(out))
    with script.start(*command, stdin=subprocess.PIPE, **settings) as process:
        assert process.stdin is not None
        process.stdin.write(ROWS)
        process.stdin.flush()
        eventually(lambda: any(is_hidden(p, out) and p.stat().st_size for p in _files(out)))
        yield process


def _files(out: Path) -> list[Path]:
    return [*out.parent.iterdir()]


class TestSignals:
    @pytest.mark.parametrize(
        ("number", "status"),
        [(signal.SIGTERM, 143), (signal.SIGHUP, 129), (signal.SIGINT, 1)],
    )
    def test_a_signal_leaves_no_file_and_no_change(self, script, acme, out, number, status):
        out.write_text("before")
        with checking(script, acme, out) as process:
            process.send_signal(number)
            assert process.wait(TIMEOUT) == status
        assert names(out.parent) == {"good.csv"}
        assert out.read_text() == "before"

    def test_sigkill_leaves_a_hidden_file_only(self, script, acme, out):
        with checking(script, acme, out) as process:
            process.kill()
        [left] = out.parent.iterdir()
        assert is_hidden(left, out)

    def test_an_ignored_signal_does_not_end_the_check(self, script, acme, out):
        def ignore() -> None:
            signal.signal(signal.SIGHUP, signal.SIG_IGN)

        with checking(script, acme, out, preexec_fn=ignore) as process:
            process.send_signal(signal.SIGHUP)
            _, err = process.communicate(b"y\n", TIMEOUT)
        assert (process.returncode, err) == (
            0,
            b"Checked 100,001 recipients: 100,001 valid, 0 invalid.\n",
        )
        assert out.read_bytes() == ROWS + b"y\n"


class TestFailures:
    def test_a_full_disk_is_reported_on_one_line_and_leaves_no_file(
        self, script, acme, tmp_path, out
    ):
        path, rejects = tmp_path / "list.csv", tmp_path / "bad.csv"
        path.write_bytes(ROWS)
        run = script(
            *("recipients", "check", str(path), "--organization", acme),
            *("--out", str(out), "--rejects", str(rejects)),
            preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (65_536, 65_536)),
        )
        assert run.failure() == f"Can't write {out}: File too large."
        assert names(tmp_path) == {"list.csv"}

    def test_if_one_output_fails_at_the_end_neither_file_is_left(self, script, acme, tmp_path, out):
        path, rejects = tmp_path / "list.csv", tmp_path / "bad.csv"
        path.write_text("tier\ngold\ngolf\n")
        valid = "tier\ngold\n"
        run = script(
            *("recipients", "check", str(path), "--organization", acme),
            *("--out", str(out), "--rejects", str(rejects)),
            preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (len(valid), len(valid))),
        )
        assert run.failure() == f"Can't write {rejects}: File too large."
        assert names(tmp_path) == {"list.csv"}

    def test_a_closed_standard_output_leaves_complete_files(self, script, acme, tmp_path, out):
        path = tmp_path / "list.csv"
        path.write_text("tier\ngolf\n")
        reading, writing = os.pipe()
        os.close(reading)
        try:
            command = ("recipients", "check", str(path), "--organization", acme)
            run = script(*command, "--out", str(out), stdout=writing)
        finally:
            os.close(writing)
        assert (run.status, run.err) == (1, "")
        assert out.read_text() == "tier\n"
        assert names(tmp_path) == {"good.csv", "list.csv"}

    def test_a_missing_folder_is_reported_before_the_check(self, check, tmp_path, out):
        missing = tmp_path / "missing" / "bad.csv"
        run = check("--out", out, "--rejects", missing)
        assert run.failure() == f"Can't write {missing}: No such file or directory."
        assert names(tmp_path) == {"list.csv"}

    def test_files_without_the_permission_to_write_are_not_replaced(
        self, script, acme, tmp_path, out
    ):
        (tmp_path / "list.csv").write_text("tier\ngold\n")
        out.write_text("before")

        def check() -> tuple[int, str]:
            run = subprocess.run(
                [
                    *(*WITHOUT_DAC_OVERRIDE, SCRIPT, "--storage", script.storage),
                    *("recipients", "check", tmp_path / "list.csv"),
                    *("--organization", str(acme), "--out", out),
                ],
                capture_output=True,
                text=True,
                check=False,
            )
            return run.returncode, run.stderr.splitlines()[-1]

        out.chmod(0o444)
        message = f"Error: Invalid value for '--out': File '{out}' is not writable."
        assert check() == (2, message)
        out.chmod(0o644)
        tmp_path.chmod(0o555)
        try:
            assert check() == (1, f"Error: Can't write {out}: Permission denied.")
        finally:
            tmp_path.chmod(0o755)
        assert out.read_text() == "before"
        assert names(tmp_path) == {"list.csv", "good.csv"}

    def test_a_pipe_is_not_replaced(self, check, out):
        os.mkfifo(out)
        assert check("--out", out).failure() == f"Can't write {out}: It is not a regular file."
        assert out.is_fifo()

    def test_a_folder_is_a_usage_error(self, check, tmp_path):
        message = f"Invalid value for '--out': File '{tmp_path}' is a directory."
        assert check("--out", tmp_path).usage_error() == message

    def test_a_name_that_is_taken_during_the_check_is_reported(self, script, acme, out):
        with checking(script, acme, out) as process:
            out.mkdir()
            _, err = process.communicate(timeout=TIMEOUT)
        assert (process.returncode, err.decode().splitlines()[-1]) == (
            1,
            f"Error: Can't write {out}: Is a directory.",
        )
        assert names(out.parent) == {"good.csv"}


class TestNames:
    @pytest.mark.parametrize("option", ["--out", "--rejects"])
    def test_the_input_is_no_output(self, check, tmp_path, option):
        link = tmp_path / "link.csv"
        link.symlink_to("list.csv")
        for name in (tmp_path / "list.csv", link, tmp_path / "." / "list.csv"):
            message = check(option, name).usage_error()
            assert message == "FILE, --out and --rejects must be different files."
        assert (tmp_path / "list.csv").read_text() == "tier\ngold\ngolf\n"

    def test_the_outputs_are_different_files(self, check, tmp_path, out):
        link = tmp_path / "link.csv"
        link.symlink_to(out.name)
        message = check("--out", out, "--rejects", link).usage_error()
        assert message == "FILE, --out and --rejects must be different files."

    def test_the_file_that_a_link_points_to_is_replaced(self, check, tmp_path, out):
        (tmp_path / "folder").mkdir()
        target = tmp_path / "folder" / "good.csv"
        out.symlink_to(target)
        assert check("--out", out).status == 3
        assert out.is_symlink()
        assert target.read_text() == "tier\ngold\n"
        assert names(target.parent) == {"good.csv"}


class TestPermissions:
    def test_only_the_owner_can_read_a_new_file(self, check, out):
        check("--out", out)
        assert out.stat().st_mode & 0o7777 == 0o600

    @pytest.mark.parametrize("mode", [0o640, 0o666, 0o600])
    def test_a_file_that_is_replaced_keeps_its_permissions(self, check, out, mode):
        out.touch()
        out.chmod(mode)
        before = out.stat()
        check("--out", out)
        after = out.stat()
        assert (after.st_mode, after.st_uid, after.st_gid) == (
            before.st_mode,
            before.st_uid,
            before.st_gid,
        )
        assert out.read_text() == "tier\ngold\n"
