"""Ports of the loopback address, and requests to them."""

from __future__ import annotations

import socket
from http.client import HTTPConnection

from .waiting import TIMEOUT


def free_port() -> int:
    """Return a port of 127.0.0.1 on which no process listens."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def http_status(port: int, path: str, key: str = "", **headers: str) -> int | None:
    """Return the status of the response to a GET request, or None if nothing accepts it."""
    connection = HTTPConnection("127.0.0.1", port, timeout=TIMEOUT)
    try:
        connection.request("GET", path, headers={"Authorization": f"Bearer {key}", **headers})
        return connection.getresponse().status
    except ConnectionError:
        return None
    finally:
        connection.close()
