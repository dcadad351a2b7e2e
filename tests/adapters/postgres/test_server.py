"""The PostgreSQL server of the tests starts from any folder, also as root."""

import os
import subprocess
import sys

import pytest

from ...support.postgres import PROGRAMS, PostgresServer, installed_packages, reachable


def test_it_starts_from_a_folder_that_only_its_owner_can_reach(tmp_path, monkeypatch):
    """Root's home is such a folder: as root, the servers run as another user."""
    tmp_path.chmod(0o700)
    (tmp_path / "packages").symlink_to(installed_packages())
    programs = reachable(tmp_path / "packages") / PROGRAMS
    monkeypatch.setenv("RECIPIENT_FIELDS_TEST_POSTGRES", str(programs))

    server = PostgresServer.create()
    try:
        assert server.accepts()
    finally:
        server.remove()


@pytest.mark.slow
def test_a_run_without_a_reachable_temporary_folder_ends_with_a_message(tmp_path):
    """An example is `TMPDIR=/root/tmp`."""
    run = subprocess.run(
        [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", __file__, "--collect-only"],
        env={**os.environ, "TMPDIR": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
    )

    if os.geteuid() == 0:
        assert run.returncode == 4
        assert "Set TMPDIR to a folder that every user can reach" in run.stdout + run.stderr
    else:
        assert run.returncode == 0
