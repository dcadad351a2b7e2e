"""The requests of the benchmarks as text, and their responses."""

from __future__ import annotations

import json
import socket
from collections.abc import Mapping
from http.client import HTTPResponse
from urllib.parse import urlsplit

from attrs import frozen

from .data import Organization

FIELDS = "/api/v1/recipient_fields"
BATCHES = "/api/v1/recipient_field_batches"
NUMBER = "#########"
"""Placeholder for the number of a request in a load, whose 9 digits keep the length the same."""

CONNECTIONS = 8
CREATED = {"name": f"Created {NUMBER}", "data_type": "text", "allowed_values": ["gold", "red"]}
"""The members of the fields that requests create."""
READ_HEALTH = "GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"

_SET_BY_THE_HOST = {"connection", "content-length", "date"}


@frozen(kw_only=True)
class Load:
    """Requests to send in turn, repeatedly. Every response must have the status."""

    requests: tuple[str, ...]
    status: int = 200
    connections: int = CONNECTIONS
    changing: bool = False
    """Whether each response must have an entity tag that no earlier response had."""


@frozen
class ConstantResponse:
    """A response without the headers that the host adds."""

    status: int
    headers: Mapping[str, str]
    body: str


def read_list(organization: Organization, query: str = "", **headers: str) -> str:
    """Return a request for the fields of the organization: all, or those that the query selects."""
    return request("GET", f"{FIELDS}{query}", _authorization(organization) | headers)


def read_page(path: str, session: str) -> str:
    """Return a request for a page of the console."""
    return f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nCookie: console={session}\r\n\r\n"


def read_field(organization: Organization, field_id: int) -> str:
    """Return a request for one field."""
    return request("GET", f"{FIELDS}/{field_id}", _authorization(organization))


def create_field(organization: Organization, **members: str) -> str:
    """Return a request that creates a field with a unique name, and with these members."""
    document = {"recipient_field": CREATED | members}
    return request("POST", FIELDS, _authorization(organization), document)


def change_field(organization: Organization, reference: str) -> str:
    """Return a request that renames a field."""
    members = {"name": f"Changed {NUMBER}"}
    path = f"{FIELDS}/{reference}"
    return request("PATCH", path, _authorization(organization), {"recipient_field": members})


def send_once(url: str, request: str) -> ConstantResponse:
    """Send the first request of a load, and return its response."""
    host = urlsplit(url)
    with socket.create_connection((host.hostname, host.port), timeout=10) as connection:
        connection.sendall(request.replace(NUMBER, "0" * len(NUMBER)).encode())
        with HTTPResponse(connection) as response:
            response.begin()
            headers = {n: v for n, v in response.getheaders() if n.lower() not in _SET_BY_THE_HOST}
            return ConstantResponse(response.status, headers, response.read().decode())


def request(
    method: str, path: str, headers: Mapping[str, str], document: object | None = None
) -> str:
    """Return a request with these headers and, unless it is None, this document as JSON."""
    body = "" if document is None else json.dumps(document)
    lines = {"Host": "127.0.0.1", "Accept": "*/*", **headers}
    if body:
        lines |= {"Content-Type": "application/json", "Content-Length": str(len(body))}
    head = "".join(f"{name}: {value}\r\n" for name, value in lines.items())
    return f"{method} {path} HTTP/1.1\r\n{head}\r\n{body}"


def _authorization(organization: Organization) -> dict[str, str]:
    return {"Authorization": f"Bearer {organization.key}"}
