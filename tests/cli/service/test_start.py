"""What the commands import. A command that serves nothing starts without the HTTP service."""

from __future__ import annotations

import subprocess
import sys

_IMPORTED = """
import sys
import recipient_fields.entrypoints.cli.main
print(*{"falcon", "waitress", "prometheus_client"} & set(sys.modules))
"""


def test_only_the_commands_that_need_the_http_service_import_it() -> None:
    command = [sys.executable, "-c", _IMPORTED]
    assert subprocess.run(command, capture_output=True, text=True, check=True).stdout == "\n"


def test_a_service_without_metrics_does_not_import_prometheus() -> None:
    code = _IMPORTED.replace("cli.main", "cli.service.process")
    command = [sys.executable, "-c", code]
    imported = subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()
    assert sorted(imported) == ["falcon", "waitress"]
