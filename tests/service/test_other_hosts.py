"""The application under other WSGI servers."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from recipient_fields.application import Core, IssuedKey

from ..support.command_line import environment_with
from ..support.network import free_port, http_status
from ..support.recipes import printed_commands, replaced
from ..support.service import FIELDS
from ..support.waiting import TIMEOUT, eventually

pytestmark = pytest.mark.slow

HOSTS = ("gunicorn", "granian")


def command_of(host: str, port: int) -> list[str]:
    """Return the command that *Other WSGI servers* prints for this host, on this port."""
    [command] = printed_commands(host)
    if host == "granian":
        return replaced(command, {"--port": str(port)})
    return replaced(command, {"--bind": f"127.0.0.1:{port}"})


@contextmanager
def hosted(
    host: str, storage: str, log: int = subprocess.DEVNULL, **environment: str
) -> Iterator[int]:
    """Run the application under that host, with the log in the file `log`; yield the port."""
    port = free_port()
    with subprocess.Popen(
        command_of(host, port),
        env=environment_with({"RECIPIENT_FIELDS_STORAGE": storage, **environment}),
        stdout=subprocess.DEVNULL,
        stderr=log,
    ) as process:
        try:
            yield port
        finally:
            process.terminate()
            process.wait(TIMEOUT)


@pytest.mark.parametrize("host", HOSTS)
def test_another_host_serves_the_application(
    host: str, storage: str, core: Core, issued: IssuedKey
) -> None:
    with hosted(host, storage) as port:
        eventually(lambda: http_status(port, "/readyz") == 200)
        assert http_status(port, FIELDS, issued.plain.reveal()) == 200
        assert http_status(port, FIELDS) == 401


@pytest.mark.parametrize("host", HOSTS)
def test_another_host_logs_the_client_address(host: str, storage: str, tmp_path: Path) -> None:
    with (tmp_path / "log").open("wb") as log:
        settings = {
            "RECIPIENT_FIELDS_LOG_CLIENT_ADDRESS": "true",
            "RECIPIENT_FIELDS_TRUSTED_PROXIES": "127.0.0.1",
        }
        with hosted(host, storage, log.fileno(), **settings) as port:
            eventually(lambda: http_status(port, "/readyz") == 200)
            for headers in ({"X-Forwarded-For": "203.0.113.9"}, {"Forwarded": "for=203.0.113.8"}):
                assert http_status(port, FIELDS, **headers) == 401
            assert http_status(port, FIELDS) == 401
            eventually(lambda: (tmp_path / "log").read_text().count('"status": 401') == 3)

    lines = (tmp_path / "log").read_text().splitlines()
    rejected = [json.loads(line) for line in lines if '"status": 401' in line]
    # A thread logs a request after its response, so another one can log the next request earlier.
    assert {fact["client_address"] for fact in rejected} == {
        *("203.0.113.9", "203.0.113.8", "127.0.0.1")
    }
    assert {fact["reason"] for fact in rejected} == {"malformed"}
