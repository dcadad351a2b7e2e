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

from ..support.redaction import REDACTED, log_lines_with_secrets

SERVE = Path(__file__).parent / "serve.py"
_REDACTED_ID = f'"request_id": "{REDACTED}"'
"""The id of a request that a client called like an API key: generated requests can."""


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
        found = log_lines_with_secrets(log.read().replace(_REDACTED_ID, ""))
        assert not found, "\n".join(found)


def bearer(key: str) -> dict[str, str]:
    """Return the header with the API key."""
    return {"Authorization": f"Bearer {key}"}
