"""Services with token introspection or a third-party key validator."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import time
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path

import pytest

from recipient_fields.application import Core
from recipient_fields.domain import OrganizationId

from ..adapters.introspection.issuers import CLAIMS, CLIENT, SECRET, TOKEN, Tokens
from ..support.http_server import HANG, RESET, Reply, StubResponse, StubServer, stub_server
from ..support.network import http_status
from ..support.service import FIELDS, Response, Service
from ..support.waiting import TIMEOUT, eventually
from .conftest import Start
from .test_other_hosts import hosted

pytestmark = pytest.mark.slow

PAGE = (Path(__file__).parents[2] / "docs" / "key-validators.md").read_text("utf-8")
CREDENTIALS = {
    "RECIPIENT_FIELDS_INTROSPECTION_CLIENT_ID": CLIENT,
    "RECIPIENT_FIELDS_INTROSPECTION_CLIENT_SECRET": SECRET,
}
READ_ONLY_TOKEN = "a-read-only-token"


@pytest.fixture
def tokens(acme: OrganizationId) -> Tokens:
    """Return the tokens of the issuer: a read-write token and a read-only token."""
    writing = {**CLAIMS, "organization_id": acme}
    return Tokens({TOKEN: writing, READ_ONLY_TOKEN: {**writing, "scope": "recipient_fields:read"}})


@pytest.fixture
def issuer(tokens: Tokens) -> Iterator[StubServer]:
    with stub_server(tokens) as server:
        yield server


@pytest.fixture
def introspecting(issuer: StubServer, start: Start) -> Iterator[Start]:
    """Yield a function that starts services with introspection. Then check their output for tokens.

    The services end before the issuer, which waits until all connections are closed.
    """
    services: list[Service] = []

    def start_service(query: str = "", **environment: str) -> Service:
        url = f"introspection+{issuer.url}/introspect{query}"
        service = start(RECIPIENT_FIELDS_KEYS=url, **CREDENTIALS, **environment)
        services.append(service)
        return service

    yield start_service
    for service in services:
        assert not any(secret in service.stderr for secret in (TOKEN, READ_ONLY_TOKEN, SECRET))


def unavailable(response: Response) -> bool:
    """Check every part of the 503, and return True."""
    assert (response.status, response.code) == (503, "api_key_validation_unavailable")
    assert int(response.headers["Retry-After"]) > 0
    assert "temporarily unavailable" in response.document["error"]["message"]
    assert "issuer" not in response.body.decode()
    return True


def test_a_token_of_the_issuer_reads_and_writes_for_its_organization(
    introspecting: Start, core: Core, acme: OrganizationId
) -> None:
    client = introspecting().client(TOKEN)

    assert client.create(name="Shop").status == 201
    assert [field["key"] for field in client.fields()] == ["shop"]
    assert [field.key for field in core.fields.list_fields(acme).fields] == ["shop"]


def test_a_change_is_visible_at_once_although_tokens_have_no_revision(introspecting: Start) -> None:
    client = introspecting().client(TOKEN)

    for number in range(5):
        client.create(name=f"Field {number}")
        assert len(client.fields()) == number + 1


def test_a_read_only_token_can_not_write(introspecting: Start) -> None:
    client = introspecting().client(READ_ONLY_TOKEN)

    response = client.create(name="Shop")

    assert (response.status, response.document["error"]["reason"]) == (403, "insufficient_scope")
    assert client.fields() == []


def test_all_invalid_tokens_get_the_same_response(
    introspecting: Start, tokens: Tokens, key: str, acme: OrganizationId
) -> None:
    service = introspecting()
    tokens.active["odd"] = {**CLAIMS, "organization_id": str(acme)}
    presented = ("unknown", "odd", key, "a" * 9_000, TOKEN[:-1])

    responses = [
        service.client(text)("GET", FIELDS, **{"X-Request-Id": "one"}) for text in presented
    ]

    assert {(a.status, a.body, a.headers["WWW-Authenticate"]) for a in responses} == {
        (401, responses[0].body, 'Bearer realm="recipient-fields", error="invalid_token"')
    }
    assert tokens.introspected == ["unknown", "odd", TOKEN[:-1]]
    service.wait_for(
        "an active token was rejected: organization_id is not the id of an organization"
    )


def test_the_request_after_a_revocation_is_rejected(introspecting: Start, tokens: Tokens) -> None:
    client = introspecting().client(TOKEN)
    assert client("GET", FIELDS).status == 200

    del tokens.active[TOKEN]

    assert client("GET", FIELDS).status == 401


def test_with_a_cache_a_revocation_takes_effect_after_its_lifetime(
    introspecting: Start, tokens: Tokens
) -> None:
    client = introspecting("?cache_seconds=1").client(TOKEN)
    assert client("GET", FIELDS).status == 200
    del tokens.active[TOKEN]

    statuses = [client("GET", FIELDS).status for _ in range(5)]
    time.sleep(1.05)

    assert statuses == [200] * 5
    assert client("GET", FIELDS).status == 401


def test_the_log_has_the_client_of_the_token(introspecting: Start, acme: OrganizationId) -> None:
    service = introspecting()

    service.client(READ_ONLY_TOKEN)("GET", FIELDS)
    service.stop()

    (line,) = [line for line in service.log if line["event"] == "request"]
    assert (line["organization"], line["key_id"]) == (acme, "backend")


@pytest.mark.parametrize(
    ("reply", "message"),
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
def test_requests_get_503_and_a_log_line_while_the_issuer_fails(
    introspecting: Start, issuer: StubServer, tokens: Tokens, reply: Reply, message: str
) -> None:
    service = introspecting("?timeout=0.5")
    client = service.client(TOKEN)
    issuer.handler = lambda _: reply

    assert unavailable(client("GET", FIELDS))
    assert unavailable(client.create(name="Lost"))
    assert service.client("no token")("GET", FIELDS).status == 401
    assert service.anonymous("GET", FIELDS).status == 401
    assert service.anonymous("GET", "/readyz").status == 200

    issuer.handler = tokens
    assert client("GET", FIELDS).status == 200
    service.wait_for(re.escape(message))


def test_the_circuit_breaker_limits_the_delay_by_an_issuer_that_hangs(
    introspecting: Start, issuer: StubServer, tokens: Tokens
) -> None:
    client = introspecting("?timeout=1", RECIPIENT_FIELDS_THREADS="1").client(TOKEN)
    issuer.handler = lambda _: HANG
    for _ in range(3):
        assert unavailable(client("GET", FIELDS))

    started = time.monotonic()
    for _ in range(20):
        assert unavailable(client("GET", FIELDS))
    assert time.monotonic() - started < 10  # Without the circuit breaker, 20 s.

    issuer.handler = tokens
    eventually(lambda: client("GET", FIELDS).status == 200)


def test_another_host_uses_introspection(storage: str, issuer: StubServer, key: str) -> None:
    url = f"introspection+{issuer.url}/introspect"
    environment = {"RECIPIENT_FIELDS_KEYS": url, **CREDENTIALS}
    with hosted("gunicorn", storage, subprocess.DEVNULL, **environment) as port:
        eventually(lambda: http_status(port, "/readyz") == 200)
        assert http_status(port, FIELDS, TOKEN) == 200
        assert http_status(port, FIELDS, key) == 401


class TestThirdPartyValidator:
    """The validator on the page, installed in a folder."""

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

    def test_the_validator_validates_every_key(
        self, folder: Path, start: Start, acme: OrganizationId
    ) -> None:
        known = folder / "keys.json"
        known.write_text(json.dumps({sha256(b"a-known-key").hexdigest(): acme}))
        service = start("--keys", f"keyfile:{known}", PYTHONPATH=str(folder))

        client = service.client("a-known-key")
        assert client.create(name="Shop").status == 201
        assert [field["key"] for field in client.fields()] == ["shop"]
        assert service.client("an-unknown-key")("GET", FIELDS).status == 401

        known.write_text("{")
        assert client("GET", FIELDS).code == "api_key_validation_unavailable"

    def test_the_validator_passes_the_contract_on_the_page(self, folder: Path) -> None:
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
