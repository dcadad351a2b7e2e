"""Processes of the service, and HTTP clients for them."""

from __future__ import annotations

import json
import os
import re
import signal
import socket
import subprocess
from collections.abc import Iterable, Mapping
from contextlib import suppress
from http.client import HTTPConnection, HTTPMessage, HTTPResponse
from threading import Thread
from typing import IO, Any, Protocol, TypeVar
from urllib.parse import urlsplit

from attrs import field, frozen

from .command_line import SCRIPT, environment_with
from .waiting import TIMEOUT, eventually

FIELDS = "/api/v1/recipient_fields"
BATCHES = "/api/v1/recipient_field_batches"

WITHOUT_DAC_OVERRIDE = (
    ("setpriv", "--bounding-set=-dac_override,-dac_read_search") if os.geteuid() == 0 else ()
)
"""The command prefix that makes file permissions effective for root."""

T = TypeVar("T")


@frozen
class Response:
    """A response of the service. A test that fails shows its status and its body."""

    status: int
    headers: HTTPMessage = field(repr=False)
    body: bytes

    @property
    def document(self) -> Any:
        """The body as JSON."""
        assert self.headers["Content-Type"] == "application/json"
        return json.loads(self.body)

    @property
    def code(self) -> str:
        """The error code."""
        error = self.document["error"]
        assert error["message"]
        assert error["request_id"] == self.headers["X-Request-Id"]
        code: str = error["code"]
        return code


class HasStatus(Protocol):
    """A response, or what a test has recorded of it."""

    @property
    def status(self) -> int: ...


def require_statuses(responses: Iterable[HasStatus], *expected: int) -> None:
    """Fail and show each response that has another status, or if there is no response."""
    received = list(responses)
    assert received
    unexpected = [repr(each) for each in received if each.status not in expected]
    assert not unexpected, f"Expected {expected}, but received:\n" + "\n".join(unexpected)


@frozen
class Client:
    """An HTTP client that opens a new connection for each request."""

    url: str
    key: str | None = None

    def __call__(self, method: str, path: str, document: object = None, **headers: str) -> Response:
        """Send a request with a JSON document and return the response.

        Raises: OSError or HTTPException if there is no response.
        """
        body = None
        if document is not None:
            body = json.dumps(document).encode()
            headers = {"Content-Type": "application/json", **headers}
        if self.key is not None:
            headers = {"Authorization": f"Bearer {self.key}", **headers}
        return self.send(method, path, body, headers)

    def send(
        self, method: str, path: str, body: bytes | None, headers: Mapping[str, str]
    ) -> Response:
        """Send exactly this request and return the response."""
        host = urlsplit(self.url)
        connection = HTTPConnection(host.hostname or "", host.port, timeout=TIMEOUT)
        try:
            connection.request(method, path, body, headers)
            with connection.getresponse() as response:
                return Response(response.status, response.headers, response.read())
        finally:
            connection.close()

    def create(self, **members: object) -> Response:
        """Create a field, by default of data type text."""
        return self("POST", FIELDS, {"recipient_field": {"data_type": "text", **members}})

    def change(self, reference: object, **members: object) -> Response:
        """Patch a field."""
        return self("PATCH", f"{FIELDS}/{reference}", {"recipient_field": members})

    def apply(self, operations: Iterable[object], **members: object) -> Response:
        """Send a batch with these operations and, for example, an `if_revision`."""
        return self("POST", BATCHES, {"operations": list(operations), **members})

    def fields(self) -> list[dict[str, Any]]:
        """Return every field of the organization."""
        response = self("GET", FIELDS)
        assert response.status == 200, response.body
        fields: list[dict[str, Any]] = response.document["recipient_fields"]
        return fields

    def send_bytes(self, request: bytes) -> Response:
        """Send these bytes and return the response; the service must then close the connection."""
        host = urlsplit(self.url)
        with socket.create_connection((host.hostname, host.port), timeout=TIMEOUT) as connection:
            connection.sendall(request)
            with HTTPResponse(connection) as received:
                received.begin()
                response = Response(received.status, received.headers, received.read())
            with suppress(ConnectionResetError):
                assert connection.recv(1) == b""
            return response


class Service:
    """A process of `recipient-fields serve`."""

    def __init__(
        self,
        storage: str,
        *options: str,
        prefix: tuple[str, ...] = (),
        script: str = SCRIPT,
        **environment: str,
    ) -> None:
        """Start the process. `prefix` is a command that runs the service's command, `script`."""
        listen = () if "RECIPIENT_FIELDS_LISTEN" in environment else ("--listen", "127.0.0.1:0")
        self._process = subprocess.Popen(
            [*prefix, script, "--storage", storage, "serve", *listen, *options],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=environment_with(environment),
        )
        assert self._process.stdout is not None
        assert self._process.stderr is not None
        self._stdout = StreamReader(self._process.stdout)
        self._stderr = StreamReader(self._process.stderr)

    @property
    def process_id(self) -> int:
        """The process id."""
        return self._process.pid

    @property
    def stdout(self) -> str:
        """The standard output so far."""
        return self._stdout.text

    @property
    def stderr(self) -> str:
        """The standard error so far."""
        return self._stderr.text

    @property
    def log(self) -> list[dict[str, Any]]:
        """The lines of the log so far."""
        return [json.loads(line) for line in self.stderr.splitlines() if line.startswith("{")]

    @property
    def requests(self) -> list[dict[str, Any]]:
        """The lines of the log about requests."""
        return [line for line in self.log if line["logger"] == "recipient_fields.requests"]

    @property
    def messages(self) -> list[str]:
        """The lines on standard error that are not log lines."""
        return [line for line in self.stderr.splitlines() if not line.startswith("{")]

    def wait_for(self, pattern: str) -> re.Match[str]:
        """Wait until standard error matches the pattern, and return the match."""

        def match() -> re.Match[str] | None:
            ended = not self._stderr.is_alive()
            found = re.search(pattern, self.stderr)
            assert found or not ended, self.stderr
            return found

        return eventually(match)

    @property
    def url(self) -> str:
        """The URL of the service, once the log contains it."""
        return self.wait_for(r'listening on (http://[^\s"]+)')[1]

    @property
    def anonymous(self) -> Client:
        """A client without a key."""
        return Client(self.url)

    def client(self, key: str) -> Client:
        """Return a client with this key."""
        return Client(self.url, key)

    def stop(self, by: signal.Signals = signal.SIGTERM) -> int:
        """Send the signal, and wait for the exit status."""
        self._process.send_signal(by)
        return self.wait()

    def kill(self) -> None:
        """Kill the process, unless it has ended."""
        self._process.kill()
        self.wait()

    def wait(self) -> int:
        """Wait for the end of the process and return its exit status."""
        status = self._process.wait(timeout=TIMEOUT)
        self._stdout.join()
        self._stderr.join()
        return status


class StreamReader(Thread):
    """A thread that reads a stream to its end."""

    def __init__(self, stream: IO[bytes]) -> None:
        super().__init__(daemon=True)
        self._stream = stream
        self.text = ""
        self.start()

    def run(self) -> None:
        with self._stream:
            for line in self._stream:
                self.text += line.decode()
