"""`recipient-fields doctor`: an operator checks a deployment, and mends what it reports."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterator
from datetime import datetime, timedelta
from pathlib import Path

import pytest

from recipient_fields.adapters.postgres import migrate
from recipient_fields.application import system_clock

from ...support.command_line import CommandLine, Run
from ...support.http_server import StubResponse, always, stub_server
from ...support.network import free_port
from ...support.postgres import new_database

_ROW = re.compile(r"(.+?) +(ok|problem) +(.+)")


def results(run: Run) -> dict[str, str]:
    """Return the result of each check in the table."""
    return {match[1]: match[2] for match in map(_ROW.fullmatch, run.out.splitlines()) if match}


def details(run: Run, check: str) -> str:
    """Return the details of a check in the table."""
    rows = filter(None, map(_ROW.fullmatch, run.out.splitlines()))
    return {match[1]: match[3] for match in rows}[check]


def certificate(folder: Path, *, days: int, name: str) -> Path:
    """Create a certificate for an alternative name such as `DNS:…` and its key, in one file."""
    file = folder / f"{name}-{days}.pem"
    names = ("-subj", "/CN=Test", "-addext", f"subjectAltName={name}")
    files = ("-keyout", "key.pem", "-out", "certificate.pem")
    key = ("-newkey", "rsa:2048", "-nodes")
    subprocess.run(
        ("openssl", "req", "-x509", *key, "-days", str(days), *names, *files),
        cwd=folder,
        check=True,
        capture_output=True,
    )
    file.write_text((folder / "key.pem").read_text() + (folder / "certificate.pem").read_text())
    return file


@pytest.fixture
def empty_database(server_url: str) -> Iterator[str]:
    with new_database(server_url) as url:
        yield url


def test_an_operator_mends_what_doctor_reports(tmp_path, empty_database):
    audit_log = tmp_path / "audit.log"
    audit_log.touch(0o644)
    options = ("--threads", "12", "--audit-log", audit_log)

    def doctor(storage: str, **variables: str) -> Run:
        return CommandLine(storage)("doctor", *options, **variables)

    broken = doctor(empty_database, RECIPIENT_FIELDS_LISTN="127.0.0.1:8080")
    migrate(empty_database)
    audit_log.chmod(0o640)
    small = doctor(empty_database)
    mended = doctor(f"{empty_database}?pool_size=12")

    assert broken.status == 1
    assert broken.err == ""
    assert results(broken) == {
        "variables": "problem",
        "storage": "problem",
        "audit log": "problem",
    }
    assert details(broken, "variables").endswith("Did you mean RECIPIENT_FIELDS_LISTEN?")
    assert details(broken, "storage").endswith("Run recipient-fields migrate.")
    assert details(broken, "audit log").endswith(f"Run: chmod o-rwx {audit_log}")
    assert (small.status, results(small)["pool"]) == (1, "problem")
    assert "Add pool_size=12 to the storage URL" in details(small, "pool")
    assert mended.status == 0
    assert set(results(mended)) == {
        *("variables", "storage", "pool", "clock", "credentials", "audit log")
    }
    assert "s3cret" not in broken.out + small.out + mended.out


def test_a_wrong_clock_is_reported(shared_database, monkeypatch):
    def behind() -> datetime:
        return system_clock() - timedelta(seconds=75)

    monkeypatch.setattr("recipient_fields.entrypoints.cli.service.doctor.system_clock", behind)

    run = CommandLine(shared_database)("doctor")

    assert run.status == 1
    assert details(run, "clock").startswith(
        "The clock of this machine is 75 s behind that of the database"
    )


def test_a_database_that_is_down_is_reported_with_what_to_do() -> None:
    run = CommandLine(f"postgresql://me:s3cret@127.0.0.1:{free_port()}/fields")("doctor")

    assert run.status == 1
    assert "Connection refused" in details(run, "storage")
    assert details(run, "storage").endswith(
        ". Check the host and the port in the URL of the storage, that the server runs, and that it"
        " accepts connections from this machine. Run doctor as the user of the service, and with"
        " its variables."
    )


def test_a_sqlite_file_that_others_can_read_is_reported_and_a_missing_one_is_not_created(
    cli, acme, file, tmp_path
):
    missing = CommandLine(f"sqlite:{tmp_path}/missing.db")("doctor", "--json")
    file.chmod(0o644)
    file.parent.chmod(0o755)
    readable = cli("doctor")
    file.chmod(0o600)
    private = cli("doctor")

    assert missing.status == 1
    assert '"check":"storage","result":"problem"' in missing.out.replace(" ", "")
    assert list(tmp_path.iterdir()) == []
    assert details(readable, "permissions").endswith(f"Run: chmod o-rwx {file}")
    assert (private.status, results(private)["permissions"]) == (0, "ok")


@pytest.mark.parametrize(
    ("days", "name", "status", "check", "expected"),
    [
        (90, "IP:127.0.0.1", 303, "console address", "/console responds."),
        (
            90,
            "IP:127.0.0.1",
            404,
            "console address",
            "responds with 404. Check that the service runs",
        ),
        (3, "IP:127.0.0.1", 303, "certificate", "Renew it, and check the timer that does so."),
        (90, "DNS:other.example", 303, "certificate", "is not valid: IP address mismatch"),
    ],
)
def test_the_address_and_the_certificate_of_the_console_are_checked(
    tmp_path, days, name, status, check, expected
):
    trusted = certificate(tmp_path, days=days, name=name)
    with stub_server(always(StubResponse(status)), certificate=trusted) as server:
        environment = {"SSL_CERT_FILE": str(trusted)}
        run = CommandLine("memory:")("doctor", "--console-url", server.url, **environment)

    assert expected in details(run, check)
    assert run.status == (0 if expected == "/console responds." else 1)


def test_a_name_that_does_not_resolve_is_reported() -> None:
    run = CommandLine("memory:")("doctor", "--console-url", "https://nosuch.invalid")

    assert run.status == 1
    assert details(run, "console address").startswith("nosuch.invalid does not resolve")
