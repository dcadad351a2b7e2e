"""The example of a storage is a separate distribution and passes every case."""

from __future__ import annotations

import re
import signal
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest

from ..support.network import free_port, http_status
from ..support.service import FIELDS
from ..support.waiting import eventually
from .conftest import TIMEOUT, Installation

pytestmark = pytest.mark.slow

SCRIPT = "import sys; from recipient_fields.entrypoints.cli import main; sys.exit(main())"
"""The command, run by the interpreter of the tests."""

CONTRACTS = """
from recipient_fields.testing import (
    StorageContract,
    StorageDurabilityContract,
    StorageOutageContract,
    StorageUrlContract,
)

class TestDuckdbStorage(StorageContract): ...
class TestDuckdbDurability(StorageDurabilityContract): ...
class TestDuckdbOutage(StorageOutageContract): ...
class TestDuckdbUrls(StorageUrlContract): ...
"""
"""The contracts without a storage, to list their cases."""


def test_the_adapter_passes_every_case_of_every_contract(
    duckdb: Installation, tmp_path: Path
) -> None:
    (tmp_path / "test_contract.py").write_text(CONTRACTS)
    collected = duckdb.tests("--collect-only", "-q", cwd=tmp_path)
    cases = {
        line.removeprefix("test_contract.py::")
        for line in collected.stdout.splitlines()
        if line.startswith("test_contract.py::")
    }
    assert len(cases) > 600, collected.stdout

    report = tmp_path / "report.xml"
    run = duckdb.tests("-q", "--tb=short", f"--junitxml={report}", cwd=duckdb.source)

    assert run.returncode == 0, run.stdout
    ran = {
        f"{case.attrib['classname'].rpartition('.')[2]}::{case.attrib['name']}"
        for case in ElementTree.parse(report).iter("testcase")
        if not len(case)
    }
    assert ran - cases == {
        "TestDuckdbMachine::runTest",
        "test_contract::test_duckdb_agrees_with_memory",
        "test_contract::test_a_url_without_a_path_is_malformed",
    }
    assert cases <= ran


def test_the_tests_use_the_built_wheel(duckdb: Installation) -> None:
    where = "import recipient_fields_duckdb as module; print(module.__file__)"
    run = duckdb.run(sys.executable, "-c", where, cwd=duckdb.packages.parent)
    assert Path(run.stdout.strip()).is_relative_to(duckdb.packages)
    assert (duckdb.packages / "recipient_fields_duckdb" / "py.typed").is_file()


def test_the_command_line_and_the_service_open_it_by_its_url(
    duckdb: Installation, tmp_path: Path
) -> None:
    """DuckDB permits one process at a time per file."""

    def command(*arguments: str) -> tuple[str | Path, ...]:
        return (sys.executable, "-c", SCRIPT, "--storage", "duckdb:fields.duckdb", *arguments)

    def output_of(*arguments: str) -> str:
        run = duckdb.run(*command(*arguments), cwd=tmp_path)
        assert (run.returncode, run.stderr.count("Error")) == (0, 0), run.stderr
        return run.stdout.strip()

    output_of("organizations", "create", "Acme")
    key = output_of("keys", "create", "--organization", "1", "--name", "Backend")
    output_of("fields", "create", "--organization", "1", "--name", "City", "--data-type", "text")
    port = free_port()
    with subprocess.Popen(
        command("serve", "--listen", f"127.0.0.1:{port}"),
        cwd=tmp_path,
        env=duckdb.environment(),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    ) as service:
        try:
            eventually(lambda: http_status(port, "/readyz") == 200)
            assert http_status(port, f"{FIELDS}/city", key) == 200
            concurrent = duckdb.run(*command("organizations", "list"), cwd=tmp_path)
        finally:
            service.send_signal(signal.SIGTERM)
            service.wait(TIMEOUT)
    assert service.returncode == 0
    assert concurrent.returncode == 1
    assert re.match(r"Error: DuckDB: .*lock on file", concurrent.stderr)
    assert "Acme" in output_of("organizations", "list")


def test_a_url_without_a_path_is_rejected_in_one_line(duckdb: Installation, tmp_path: Path) -> None:
    for url in ("duckdb:", "duckdb::memory:"):
        command = (sys.executable, "-c", SCRIPT, "--storage", url, "organizations", "list")
        run = duckdb.run(*command, cwd=tmp_path)
        assert (run.returncode, run.stdout) == (1, "")
        assert run.stderr.startswith("Error: Write duckdb:PATH;")
        assert not any(tmp_path.iterdir())
