"""An organization with a large catalog floods the service, and another one still gets responses."""

from __future__ import annotations

import socket
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from pathlib import Path
from threading import Event
from urllib.parse import urlsplit

import pytest
from attrs import frozen

from recipient_fields.application import Core
from recipient_fields.domain import Access, OrganizationId

from ..support.fields import add_field
from ..support.service import FIELDS, Client, Response, Service
from ..support.waiting import eventually
from .conftest import Start

SCHEMA = "/api/v1/recipient_schema"
CLIENTS = 8


@frozen
class Story:
    """A service, a client of the large organization with a read-only key, and another client."""

    service: Service
    large: Client
    other: Client


@pytest.fixture
def story(start: Start, core: Core, request: pytest.FixtureRequest) -> Story:
    """Create an organization with a list of 3 MB and another one, and start a service."""

    def key(organization: OrganizationId, access: Access) -> str:
        return core.administration.issue_key(organization, name="T", access=access).plain.reveal()

    large, other = (core.administration.create_organization(n).id for n in ("Large", "Other"))
    values = tuple(f"{number:0>250}" for number in range(250))
    for number in range(50):
        add_field(core, large, f"F {number}", allowed_values=values)
    add_field(core, other, "City")
    service = start(*getattr(request, "param", ()))
    return Story(
        service,
        service.client(key(large, Access.READ_ONLY)),
        service.client(key(other, Access.READ_WRITE)),
    )


@contextmanager
def flooding(request: Callable[[], Response]) -> Iterator[list[Response]]:
    """Let eight clients repeat a request during the block, which receives the responses so far."""
    ended, responses = Event(), list[Response]()

    def flood() -> None:
        while not ended.is_set():
            responses.append(request())

    with ThreadPoolExecutor(CLIENTS) as pool:
        clients = [pool.submit(flood) for _ in range(CLIENTS)]
        try:
            yield responses
        finally:
            ended.set()
        for client in clients:
            client.result()


@pytest.mark.parametrize("story", [("--cache", "0")], indirect=True)
def test_a_flood_of_heavy_requests_leaves_threads_for_others(story):
    with flooding(lambda: story.large("GET", SCHEMA)) as responses:
        for number in range(20):
            assert story.service.anonymous("GET", "/healthz").status == 200
            assert len(story.other.fields()) == number + 1
            assert story.other.create(name=f"Field {number}").status == 201
            assert story.large("GET", f"{FIELDS}/f_1").status == 200
    rejected = [response for response in responses if response.status != 200]
    assert 0 < len(rejected) < len(responses)
    assert {response.code for response in rejected} == {"overloaded"}
    assert {response.headers["Retry-After"] for response in rejected} == {"1"}


def test_writes_overtake_content_that_takes_long(story, core):
    reader = core.administration.create_organization("Reader").id
    issued = core.administration.issue_key(reader, name="T", access=Access.READ_ONLY)
    client = story.service.client(issued.plain.reveal())
    content = ("{{" + " x.y" * 2_390 + "}}") * 6
    export = {"content": content, "esp": "mailchimp", "strict": False}
    with flooding(lambda: client("POST", "/api/v1/content_exports", export)) as responses:
        eventually(lambda: responses)
        before = len(responses)
        for number in range(20):
            assert story.other.create(name=f"Field {number}").status == 201
        during = len(responses) - before
    assert responses[0].status == 200
    # A client that waits too long for its turn receives 503. Each creation would wait for at least
    # one export.
    assert {response.status for response in responses} <= {200, 503}
    assert during < 10


def test_clients_that_do_not_read_a_list_share_it(story):
    expected = story.large("GET", FIELDS).body
    host = urlsplit(story.service.url)
    request = f"GET {FIELDS} HTTP/1.1\r\nHost: h\r\nAuthorization: Bearer {story.large.key}\r\n\r\n"
    with ExitStack() as clients:
        for _ in range(CLIENTS):
            client = clients.enter_context(socket.socket())
            client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            client.connect((host.hostname, host.port))
            client.sendall(request.encode())
            assert client.recv(12) == b"HTTP/1.1 200"
        assert _temporary_files(story.service.process_id) == []
        assert story.large("GET", FIELDS).body == expected
        assert len(story.other.fields()) == 1
    eventually(lambda: story.service.anonymous("GET", "/healthz").status == 200)


def _temporary_files(process_id: int) -> list[str]:
    """Return the names of the open files that were deleted, as temporary files are at once."""
    links = (file.readlink() for file in Path(f"/proc/{process_id}/fd").iterdir())
    return [link.name for link in links if link.name.endswith("(deleted)")]
