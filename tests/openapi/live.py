"""The service in another process, with two organizations that have fields of every origin."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryFile

from attrs import frozen

from ..support.redaction import log_lines_with_secrets

SERVE = Path(__file__).parent / "serve.py"


@frozen(kw_only=True)
class Live:
    """The URL of a running service, and its API keys."""

    url: str
    acme: str
    acme_read_only: str
    globex: str

    @property
    def fields(self) -> str:
        return f"{self.url}/api/v1/recipient_fields"


@contextmanager
def live_service(storage_url: str) -> Iterator[Live]:
    """Run the service with that storage during the block."""
    with TemporaryFile("w+") as log:
        with subprocess.Popen(
            [sys.executable, SERVE, storage_url], stdout=subprocess.PIPE, stderr=log, text=True
        ) as process:
            assert process.stdout is not None
            try:
                yield Live(**json.loads(process.stdout.readline()))
            finally:
                process.terminate()
        assert process.returncode == 0
        log.seek(0)
        assert log_lines_with_secrets(log.read()) == []


def bearer(key: str) -> dict[str, str]:
    """Return the header with the API key."""
    return {"Authorization": f"Bearer {key}"}
