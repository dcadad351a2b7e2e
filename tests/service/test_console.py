"""The console of a running service, on memory and SQLite, and under other servers."""

from __future__ import annotations

import logging
import os
import sqlite3
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, suppress
from http.client import HTTPException
from pathlib import Path
from time import monotonic, sleep
from urllib.parse import urlencode

import psutil
import pytest

from recipient_fields.application import Core
from recipient_fields.application.accounts.administrators import MAX_ATTEMPTS_PER_ADDRESS
from recipient_fields.domain import OrganizationId

from ..console.browser import ORIGIN, URLENCODED, Response
from ..support.command_line import CommandLine
from ..support.network import http_status
from ..support.service import FIELDS, Service
from ..support.waiting import eventually
from .conftest import Start
from .console import (
    SIGN_IN,
    RecordingBrowser,
    browse,
    create_field,
    invite,
    logged_secrets,
    set_password,
    sign_in,
)
from .load import send_all
from .test_other_hosts import HOSTS, hosted

pytestmark = pytest.mark.slow

_log = logging.getLogger(__name__)


@pytest.fixture
def dana(core: Core, acme: OrganizationId) -> str:
    """Invite an administrator of the organization, and return the path of the link."""
    return invite(core, acme, f"dana@{acme}.example")


@pytest.fixture
def console(start: Start) -> Service:
    return start("--console", "--log-level", "debug")


class TestStorages:
    def test_the_console_of_a_demonstration_works_on_the_memory_storage(self, start: Start) -> None:
        service = start("--demo", url="memory:", shows_secrets=True)
        link = service.wait_for(r"works once:\n\S+?(/console/links/\S+)\n")[1]
        browser = browse(service.url)
        browser.secrets.add(link.rpartition("/")[2])

        fields = browser.follow(browser.submit(browser.get(link)))
        created = create_field(browser, fields.path, "Shoe size")

        assert "Loyalty tier" in fields.text
        assert "Shoe size" in created.text
        key = service.wait_for(r"The API key, shown this once: (\S+)\n")[1]
        assert service.client(key).fields()[-1]["key"] == "shoe_size"
        assert browse(service.url).get(link).status == 410
        service.kill()
        assert logged_secrets(service.stderr, browser) == []

    def test_the_console_works_on_sqlite_and_logs_no_secret(
        self, console: Service, dana: str, acme: OrganizationId, key: str
    ) -> None:
        browser, other = browse(console.url), browse(console.url)
        set_password(browser, dana)
        signed_out = browser.submit(browser.get(f"/console/o/{acme}/fields"))
        assert signed_out.location == browser.get("/console").location == SIGN_IN

        fields = browser.follow(sign_in(browser, f"dana@{acme}.example"))
        create_field(browser, fields.path, "Shop")
        wrong = sign_in(other, f"dana@{acme}.example", "another password")
        forged = browser.post(f"{fields.path}/new", {"csrf": "forged", "name": "Forged"})

        assert (wrong.status, forged.status) == (422, 403)
        assert [field["name"] for field in console.client(key).fields()] == ["Shop"]
        console.kill()
        other.secrets.add("another password")
        assert logged_secrets(console.stderr, browser, other) == []

    def test_a_session_continues_after_a_restart(
        self, start: Start, dana: str, acme: OrganizationId
    ) -> None:
        first = start("--console")
        browser = browse(first.url)
        page = set_password(browser, dana)
        assert first.stop() == 0

        second = browse(start("--console").url)
        second.cookies = browser.cookies

        assert second.get(page.path).status == 200


class TestCredentials:
    def test_without_the_option_there_is_no_trace_of_the_console(self, service: Service) -> None:
        for path in ("/console", SIGN_IN, "/console/static/console.css", "/console/o/1/fields"):
            for method in ("GET", "POST"):
                response = service.anonymous(method, path)
                unknown = service.anonymous(method, "/nothing")
                assert (response.status, response.code) == (unknown.status, unknown.code)
                assert b"onsole" not in response.body.replace(path.encode(), b"")
                assert "Set-Cookie" not in response.headers
        home = service.anonymous("GET", "/", Accept="text/html")
        assert (home.status, home.headers["Location"]) == (302, "/docs")

    def test_the_home_page_leads_to_the_console_with_the_option(self, console: Service) -> None:
        home = console.anonymous("GET", "/", Accept="text/html")

        assert home.headers["Location"] == "/console"

    def test_browsers_get_a_page_if_the_server_rejects_a_request(
        self, console: Service, service: Service
    ) -> None:
        too_large = {"Content-Length": "11000000", "Accept": "text/html,*/*;q=0.8"}

        page = console.anonymous("POST", SIGN_IN, **too_large)

        assert page.status == 413
        assert page.headers["Content-Type"] == "text/html; charset=utf-8"
        assert "default-src 'none'" in page.headers["Content-Security-Policy"]
        text = page.body.decode()
        assert "<p>The request body is too large. Send less.</p>" in text
        assert page.headers["X-Request-Id"] in text
        others = [
            (console, FIELDS, "text/html"),
            (console, "/consolevil", "text/html"),
            (console, SIGN_IN, "*/*"),
            (service, SIGN_IN, "text/html"),
        ]
        for which, path, accept in others:
            rejected = which.anonymous("POST", path, **{**too_large, "Accept": accept})
            assert rejected.code == "payload_too_large"

    def test_a_cookie_is_no_credential_of_the_api(self, console: Service, dana: str) -> None:
        browser = browse(console.url)
        set_password(browser, dana)
        (cookie,) = browser.cookies.items()

        for headers in (
            {"Cookie": "=".join(cookie)},
            {"Authorization": f"Bearer {cookie[1]}"},
        ):
            assert console.anonymous("GET", FIELDS, **headers).code == "unauthorized"

    def test_an_api_key_is_no_credential_of_the_console(
        self, console: Service, acme: OrganizationId, key: str
    ) -> None:
        page = f"/console/o/{acme}/fields"

        for headers in ({"Authorization": f"Bearer {key}"}, {"Cookie": f"console={key}"}):
            assert console.anonymous("GET", page, **headers).status == 303
            assert console.anonymous("POST", f"{page}/new", **headers).status == 401


class TestServers:
    @pytest.mark.parametrize("host", HOSTS)
    def test_the_console_works_under_another_host(
        self, host: str, storage: str, dana: str, tmp_path: Path
    ) -> None:
        file = tmp_path / "log"
        settings = {
            "RECIPIENT_FIELDS_CONSOLE": "true",
            "RECIPIENT_FIELDS_CONSOLE_URL": ORIGIN,
            "RECIPIENT_FIELDS_LOG_LEVEL": "debug",
        }
        with file.open("wb") as log, hosted(host, storage, log.fileno(), **settings) as port:
            eventually(lambda: http_status(port, "/readyz") == 200)
            browser = browse(f"http://127.0.0.1:{port}")

            fields = set_password(browser, dana)

            assert "Shop" in create_field(browser, fields.path, "Shop").text
        assert '"route": "/console/invitations/{token}"' in file.read_text()
        assert logged_secrets(file.read_text(), browser) == []


class TestAddresses:
    NOWHERE = "192.0.2.1:0"
    """The address belongs to no machine: a service that has accepted its options fails there."""

    @pytest.mark.parametrize("option", ["--console", "--demo"])
    @pytest.mark.parametrize("address", ["0.0.0.0:0", "[::]:0", NOWHERE])
    def test_a_console_that_other_machines_can_reach_requires_its_url(
        self, address: str, option: str
    ) -> None:
        serve = ("serve", option, "--listen", address, "--admin-listen", self.NOWHERE)

        assert CommandLine("memory:")(*serve).failure() == (
            "The console needs its address in a browser, unless the service listens on a loopback"
            " address. Set --console-url or RECIPIENT_FIELDS_CONSOLE_URL, for example to"
            " https://fields.example.com."
        )

    def test_a_console_with_a_url_can_listen_on_every_address(self) -> None:
        serve = ("serve", "--console", "--listen", self.NOWHERE, "--console-url", ORIGIN)

        assert self.NOWHERE in CommandLine("memory:")(*serve).failure()

    @pytest.mark.parametrize("address", ["127.0.0.2:0", "[::1]:0", "localhost:0"])
    def test_a_console_for_its_own_machine_requires_no_url(
        self, start: Start, address: str
    ) -> None:
        service = start("--console", RECIPIENT_FIELDS_LISTEN=address)

        assert service.anonymous("GET", SIGN_IN).status == 200


def test_a_kill_during_sign_in_harms_nothing(
    start: Start, core: Core, acme: OrganizationId, file: Path
) -> None:
    emails = [f"{name}@{acme}.example" for name in ("ann", "ben", "cat")]
    links = [invite(core, acme, email) for email in emails]
    service = start("--console")
    for link in links:
        set_password(browse(service.url), link)
    signed_in = []

    def sign_in_repeatedly(email: str) -> None:
        with suppress(OSError, HTTPException):
            while True:
                browser = browse(service.url)
                assert sign_in(browser, email).status == 303
                signed_in.append(browser)

    with ThreadPoolExecutor(len(emails)) as pool:
        running = [pool.submit(sign_in_repeatedly, email) for email in emails]
        eventually(lambda: len(signed_in) >= 6)
        service.kill()
    for each in running:
        each.result()

    again = start("--console")
    for email in emails:
        assert sign_in(browse(again.url), email).status == 303
    last = browse(again.url)
    last.cookies = signed_in[-1].cookies
    assert last.get(f"/console/o/{acme}/fields").status == 200
    with closing(sqlite3.connect(file)) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)
        assert connection.execute("PRAGMA foreign_key_check").fetchall() == []


class TestFlood:
    """10,000 sign-in attempts from one address, and sign-ins of others at the same time."""

    ATTEMPTS = 10_000
    AT_ONCE = 200
    """Attempts in progress. The service closes connections if there are more than 500."""
    MAX_SECONDS = 3 if "RECIPIENT_FIELDS_TEST_LOAD" in os.environ else 10
    """The limit is 3 s on an idle machine. Other tests run at the same time as this one."""
    MAX_GROWTH = 200 * 1024 * 1024

    def test_it_delays_no_other_administrator_and_needs_little_memory(
        self, start: Start, core: Core, acme: OrganizationId
    ) -> None:
        service = start("--console", "--trusted-proxies", "127.0.0.1")
        emails = [f"user{number}@{acme}.example" for number in range(4)]
        for email in emails:
            set_password(browse(service.url), invite(core, acme, email))
        usual = [self.seconds_to_sign_in(service, email, 0) for email in emails]
        resident = psutil.Process(service.process_id).memory_info().rss
        attacker = browse(service.url, "203.0.113.66")
        page = attacker.get(SIGN_IN)
        attempts = [attempt(attacker, page, number) for number in range(self.ATTEMPTS)]

        seconds: list[float] = []
        with ThreadPoolExecutor(1) as pool:
            attack = pool.submit(send_all, attempts, self.AT_ONCE, service.url)
            sleep(0.5)
            while not attack.done():
                number = len(seconds)
                email = emails[number % len(emails)]
                seconds.append(self.seconds_to_sign_in(service, email, 1 + number % 250))
            statuses = attack.result()

        growth = peak_memory(service.process_id) - resident
        _log.info("%s; memory grew by %.0f MiB", statuses, growth / 1024**2)
        _log.info("sign-ins before %s, during %s s", *map(rounded, (usual, seconds)))
        # The server rejects requests with 503 that wait for 2 s while the first passwords are
        # hashed.
        assert set(statuses) <= {"422", "429", "503", "closed"}
        assert statuses["422"] <= MAX_ATTEMPTS_PER_ADDRESS
        assert statuses["429"]
        assert max(seconds) < self.MAX_SECONDS
        assert growth < self.MAX_GROWTH
        service.kill()
        assert logged_secrets(service.stderr, attacker) == []

    def seconds_to_sign_in(self, service: Service, email: str, host: int) -> float:
        """Sign in from another address, again after each 503, and return the duration."""
        began = monotonic()
        browser = browse(service.url, f"198.51.100.{host}")
        while (response := sign_in(browser, email)).status == 503:
            assert response.headers["Retry-After"]
        assert response.status == 303
        return monotonic() - began


def rounded(seconds: list[float]) -> list[float]:
    return [round(each, 2) for each in seconds]


def attempt(attacker: RecordingBrowser, page: Response, number: int) -> bytes:
    """Return the request of a sign-in attempt for a different account."""
    inputs = dict(page.form().inputs)
    body = urlencode({**inputs, "email": f"user{number}@b.example", "password": "a password"})
    lines = (
        f"POST {SIGN_IN} HTTP/1.1",
        "Host: console.test",
        f"Origin: {ORIGIN}",
        "Connection: close",
        f"Content-Type: {URLENCODED}",
        f"Content-Length: {len(body)}",
        f"Cookie: console-form={attacker.cookies['console-form']}",
        f"X-Forwarded-For: {attacker.headers['X-Forwarded-For']}",
        "",
        body,
    )
    return "\r\n".join(lines).encode()


def peak_memory(process_id: int) -> int:
    """Return the largest resident memory of the process so far, in bytes."""
    status = Path(f"/proc/{process_id}/status").read_text()
    return int(status.partition("VmHWM:")[2].split()[0]) * 1024
