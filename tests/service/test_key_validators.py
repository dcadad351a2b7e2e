"""Services that ask somebody else about API keys, and the page that tells how."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from hashlib import sha256
from pathlib import Path

import pytest

from recipient_fields.application import Core
from recipient_fields.domain import OrganizationId

from ..adapters.introspection.issuers import CLAIMS, CLIENT, SECRET, TOKEN, Tokens
from ..support.http_server import HANG, RESET, Reply, StubResponse, StubServer, stub_server
from ..support.network import http_status
from ..support.service import FIELDS, Answer, Service
from ..support.waiting import TIMEOUT, eventually
from .test_other_hosts import hosted

pytestmark = pytest.mark.slow

PAGE = (Path(__file__).parents[2] / "docs" / "key-validators.md").read_text("utf-8")
CREDENTIALS = {
    "RECIPIENT_FIELDS_INTROSPECTION_CLIENT_ID": CLIENT,
    "RECIPIENT_FIELDS_INTROSPECTION_CLIENT_SECRET": SECRET,
}
READER = "a-token-that-reads"

Start = Callable[..., Service]


@pytest.fixture
def tokens(acme: OrganizationId) -> Tokens:
    """The issuer's tokens: one that reads and writes for the organization, one that reads."""
    writing = {**CLAIMS, "organization_id": acme}
    return Tokens({TOKEN: writing, READER: {**writing, "scope": "recipient_fields:read"}})


@pytest.fixture
def issuer(tokens: Tokens) -> Iterator[StubServer]:
    with stub_server(tokens) as server:
        yield server


@pytest.fixture
def introspecting(issuer: StubServer, start: Start) -> Iterator[Start]:
    """Starts services that ask the issuer, and looks whether they have told of a token.

    They end before the issuer does, who waits until nobody is connected.
    """
    services: list[Service] = []

    def begin(query: str = "", **environment: str) -> Service:
        url = f"introspection+{issuer.url}/introspect{query}"
        service = start(RECIPIENT_FIELDS_KEYS=url, **CREDENTIALS, **environment)
        services.append(service)
        return service

    yield begin
    for service in services:
        assert not any(secret in service.told for secret in (TOKEN, READER, SECRET))


def unavailable(answer: Answer) -> bool:
    assert (answer.status, answer.code) == (503, "api_key_validation_unavailable")
    assert int(answer.headers["Retry-After"]) > 0
    assert "temporarily unavailable" in answer.document["error"]["message"]
    assert "issuer" not in answer.body.decode()
    return True


def test_a_token_of_the_issuer_reads_and_writes_for_its_organization(
    introspecting: Start, core: Core, acme: OrganizationId
) -> None:
    client = introspecting().client(TOKEN)

    assert client.create(name="Shop").status == 201
    assert [field["key"] for field in client.fields()] == ["shop"]
    assert [field.key for field in core.fields.list_fields(acme).fields] == ["shop"]


def test_a_change_shows_at_once_though_no_revision_comes_with_the_token(
    introspecting: Start,
) -> None:
    client = introspecting().client(TOKEN)

    for number in range(5):
        client.create(name=f"Field {number}")
        assert len(client.fields()) == number + 1


def test_a_token_that_only_reads_writes_nothing(introspecting: Start) -> None:
    client = introspecting().client(READER)

    answer = client.create(name="Shop")

    assert (answer.status, answer.document["error"]["reason"]) == (403, "insufficient_scope")
    assert client.fields() == []


def test_whatever_is_no_valid_token_is_refused_alike(
    introspecting: Start, tokens: Tokens, key: str, acme: OrganizationId
) -> None:
    service = introspecting()
    tokens.active["odd"] = {**CLAIMS, "organization_id": str(acme)}
    presented = ("unknown", "odd", key, "a" * 9_000, TOKEN[:-1])

    answers = [service.client(text)("GET", FIELDS, **{"X-Request-Id": "one"}) for text in presented]

    assert {(a.status, a.body, a.headers["WWW-Authenticate"]) for a in answers} == {
        (401, answers[0].body, 'Bearer realm="recipient-fields", error="invalid_token"')
    }
    assert tokens.introspected == ["unknown", "odd", TOKEN[:-1]]
    service.tells("an active token was rejected: organization_id is not the id of an organization")


def test_the_request_after_a_revocation_is_refused(introspecting: Start, tokens: Tokens) -> None:
    client = introspecting().client(TOKEN)
    assert client("GET", FIELDS).status == 200

    del tokens.active[TOKEN]

    assert client("GET", FIELDS).status == 401


def test_where_answers_are_kept_a_revocation_is_seen_after_the_window(
    introspecting: Start, tokens: Tokens
) -> None:
    client = introspecting("?cache_seconds=1").client(TOKEN)
    assert client("GET", FIELDS).status == 200
    del tokens.active[TOKEN]

    statuses = [client("GET", FIELDS).status for _ in range(5)]
    time.sleep(1.05)

    assert statuses == [200] * 5
    assert client("GET", FIELDS).status == 401


def test_the_log_knows_the_token_by_its_client(introspecting: Start, acme: OrganizationId) -> None:
    service = introspecting()

    service.client(READER)("GET", FIELDS)
    service.stop()

    (line,) = [line for line in service.log if line["event"] == "request"]
    assert (line["organization"], line["key_id"]) == (acme, "backend")


@pytest.mark.parametrize(
    ("reply", "told"),
    [
        (StubResponse(500), "The token issuer failed (500)."),
        (
            StubResponse(401),
            "The token issuer does not accept this service's own credentials (401).",
        ),
        (
            StubResponse(200, b"<html>"),
            "The token issuer sent a response that does not match RFC 7662.",
        ),
        (RESET, "The token issuer closed the connection before the end of its response."),
        (HANG, "The token issuer did not respond in time."),
    ],
)
def test_a_request_is_503_while_the_issuer_can_not_tell_and_the_log_says_why(
    introspecting: Start, issuer: StubServer, tokens: Tokens, reply: Reply, told: str
) -> None:
    service = introspecting("?timeout=0.5")
    client = service.client(TOKEN)
    issuer.handler = lambda _: reply

    assert unavailable(client("GET", FIELDS))
    assert unavailable(client.create(name="Lost"))
    assert service.client("no token")("GET", FIELDS).status == 401
    assert service.anyone("GET", FIELDS).status == 401
    assert service.anyone("GET", "/readyz").status == 200

    issuer.handler = tokens
    assert client("GET", FIELDS).status == 200
    service.tells(re.escape(told))


def test_an_issuer_that_hangs_does_not_keep_everybody_waiting(
    introspecting: Start, issuer: StubServer, tokens: Tokens
) -> None:
    client = introspecting("?timeout=1", RECIPIENT_FIELDS_THREADS="1").client(TOKEN)
    issuer.handler = lambda _: HANG
    for _ in range(3):
        assert unavailable(client("GET", FIELDS))

    began = time.monotonic()
    for _ in range(20):
        assert unavailable(client("GET", FIELDS))
    assert time.monotonic() - began < 1

    issuer.handler = tokens
    eventually(lambda: client("GET", FIELDS).status == 200)
    assert time.monotonic() - began < 3


def test_another_host_asks_the_issuer_as_well(storage: str, issuer: StubServer, key: str) -> None:
    url = f"introspection+{issuer.url}/introspect"
    environment = {"RECIPIENT_FIELDS_KEYS": url, **CREDENTIALS}
    with hosted("gunicorn", storage, subprocess.DEVNULL, **environment) as port:
        eventually(lambda: http_status(port, "/readyz") == 200)
        assert http_status(port, FIELDS, TOKEN) == 200
        assert http_status(port, FIELDS, key) == 401


class TestAValidatorOfSomebodyElse:
    """The one that the page shows, installed nowhere but in a folder."""

    @pytest.fixture
    def folder(self, tmp_path: Path) -> Path:
        module, _ = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
        (entry,) = re.findall(r"```toml\n(.*?)```", PAGE, re.DOTALL)
        (tmp_path / "keyfile.py").write_text(module)
        information = tmp_path / "keyfile-1.0.dist-info"
        information.mkdir()
        (information / "METADATA").write_text("Metadata-Version: 2.1\nName: keyfile\nVersion: 1\n")
        (information / "entry_points.txt").write_text(
            entry.replace("project.entry-points.", "").replace('"', "")
        )
        return tmp_path

    def test_is_asked_about_every_key(
        self, folder: Path, start: Start, acme: OrganizationId
    ) -> None:
        known = folder / "keys.json"
        known.write_text(json.dumps({sha256(b"a-key-of-mine").hexdigest(): acme}))
        service = start("--keys", f"keyfile:{known}", PYTHONPATH=str(folder))

        client = service.client("a-key-of-mine")
        assert client.create(name="Shop").status == 201
        assert [field["key"] for field in client.fields()] == ["shop"]
        assert service.client("a-key-of-yours")("GET", FIELDS).status == 401

        known.write_text("{")
        assert client("GET", FIELDS).code == "api_key_validation_unavailable"

    def test_passes_the_contract_as_the_page_runs_it(self, folder: Path) -> None:
        _, contract = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
        (folder / "test_keyfile.py").write_text(contract)

        run = subprocess.run(
            [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-q", "test_keyfile.py"],
            cwd=folder,
            env={**os.environ, "PYTHONPATH": str(folder)},
            capture_output=True,
            text=True,
            timeout=TIMEOUT,
        )

        assert run.returncode == 0, run.stdout
