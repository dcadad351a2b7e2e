"""The examples of the documentation, with servers and clients for them."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from http.client import HTTPConnection
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from time import monotonic, sleep
from types import ModuleType
from typing import Any

from attrs import frozen

from ..support.network import free_port

EXAMPLES = Path(__file__).parents[2] / "docs" / "examples"
FIELDS = "/fields/api/v1/recipient_fields"
TIMEOUT = 20


def example(name: str) -> ModuleType:
    """Import a new copy of an example."""
    spec = spec_from_file_location(name, EXAMPLES / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    sys.modules[name] = module  # pydantic resolves annotations in this module.
    spec.loader.exec_module(module)
    return module


@frozen
class Response:
    """A response."""

    status: int
    headers: Mapping[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)


@frozen
class Site:
    """A client with a token, for the server on a port."""

    port: int
    token: str | None = None

    def send(
        self, method: str, path: str, body: Any = None, *, form: str | None = None
    ) -> Response:
        """Send one request over a new connection and return the response."""
        headers = {} if self.token is None else {"Authorization": f"Bearer {self.token}"}
        content = form
        if form is not None:
            headers["Content-Type"] = "application/x-www-form-urlencoded"
        elif body is not None:
            headers["Content-Type"] = "application/json"
            content = json.dumps(body)
        connection = HTTPConnection("127.0.0.1", self.port, timeout=TIMEOUT)
        try:
            connection.request(method, path, content, headers)
            response = connection.getresponse()
            headers = {name.lower(): value for name, value in response.getheaders()}
            return Response(response.status, headers, response.read())
        finally:
            connection.close()


@contextmanager
def served(
    command: Sequence[str],
    folder: Path,
    *,
    ready: str,
    environment: Mapping[str, str] | None = None,
) -> Iterator[Site]:
    """Run a Python module that serves at `{port}`, and wait until the path `ready` responds."""
    site = Site(free_port())
    arguments = (part.format(port=site.port) for part in command)
    with subprocess.Popen(
        [sys.executable, "-m", *arguments],
        cwd=folder,
        env=environment,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
    ) as process:
        try:
            end = monotonic() + TIMEOUT
            while not _responds(site, ready):
                assert process.poll() is None, process.stderr and process.stderr.read().decode()
                assert monotonic() < end, "The server does not respond."
                sleep(0.05)
            yield site
        finally:
            process.terminate()
            process.communicate(timeout=TIMEOUT)


def _responds(site: Site, path: str) -> bool:
    with suppress(OSError):
        return site.send("GET", path).status < 500
    return False
