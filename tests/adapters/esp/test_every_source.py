"""What all sources must do, whatever their ESP."""

from __future__ import annotations

import gc
import gzip
import json
import logging
import socket
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from itertools import repeat
from pathlib import Path
from time import monotonic, sleep

import pytest
from attrs import evolve

from recipient_fields.adapters.esp.api import Api
from recipient_fields.domain import IntegrationId, OrganizationId
from recipient_fields.domain.esp import (
    DIALECTS,
    Esp,
    EspRefused,
    EspUnavailable,
    Integration,
    SyncRun,
)

from ...support.http_server import HANG, RESET, Act, Heard, Play, Played, Stage, in_turn, staged
from .accounts import ACCOUNTS, QUICK, SECRET, TOKEN, Account

pytestmark = pytest.mark.slow

Staging = Callable[[Play], Stage]

BY_HEADER = [account for account in ACCOUNTS if account.esp is not Esp.SALESFORCE]
"""Those whose credentials stand in a header; Salesforce's stand in a body."""

IMPATIENT = evolve(QUICK, read_timeout=0.15, attempts=2)


@pytest.fixture(params=ACCOUNTS, ids=lambda account: account.esp.value)
def account(request: pytest.FixtureRequest) -> Account:
    return request.param


def listing(account: Account, acts: Iterable[Act]) -> Play:
    """The account, where these acts are played to the first requests for its listing."""
    faulty = in_turn(acts, account.play)
    return lambda heard: (faulty if heard.path == account.listing else account.play)(heard)


def asked(stage: Stage, account: Account) -> list[Heard]:
    return [heard for heard in stage.heard if heard.path == account.listing]


def test_there_is_an_account_for_every_esp_but_the_one_without_a_listing():
    assert {account.esp for account in ACCOUNTS} == set(Esp) - {Esp.CUSTOMER_IO}


class TestListing:
    def test_tells_all_fields_in_order_with_their_types_and_options(self, account, stage: Staging):
        source = account.source(stage(account.play).url)
        assert tuple(source.fields()) == account.reported

    def test_can_be_read_again(self, account, stage: Staging):
        source = account.source(stage(account.play).url)
        assert tuple(source.fields()) == tuple(source.fields()) == account.reported

    def test_can_be_read_by_several_threads(self, account, stage: Staging):
        source = account.source(stage(account.play).url)
        with ThreadPoolExecutor(4) as threads:
            readings = list(threads.map(lambda _: tuple(source.fields()), range(4)))
        assert readings == [account.reported] * 4

    def test_asks_for_nothing_before_it_is_read(self, account, stage: Staging):
        playing = stage(account.play)
        account.source(playing.url).fields()
        assert playing.heard == []

    def test_can_be_left_in_the_middle(self, account, stage: Staging):
        fields = account.source(stage(account.play).url).fields()
        assert next(fields) == account.reported[0]
        fields.close()

    @pytest.mark.parametrize("acts", [[], [RESET], [Played(500)], [Played(200, b"{", promised=9)]])
    def test_leaves_no_connection_behind(self, account, stage: Staging, acts):
        playing = stage(listing(account, acts))
        gc.disable()  # which closes what was forgotten, sooner or later
        try:
            assert tuple(account.source(playing.url).fields()) == account.reported
            ends = monotonic() + 2
            while playing.connections and monotonic() < ends:
                sleep(0.01)
            assert playing.connections == 0
        finally:
            gc.enable()

    def test_is_read_under_a_path_where_the_url_has_one(self, account, stage: Staging):
        def proxied(heard: Heard) -> Act:
            return account.play(evolve(heard, target=heard.target.removeprefix("/proxy")))

        playing = stage(proxied)
        assert tuple(account.source(playing.url + "/proxy/").fields()) == account.reported
        assert playing.heard[0].target.startswith("/proxy/")

    def test_is_what_a_sync_run_can_work_with(self, account):
        integration = Integration(
            id=IntegrationId(1),
            organization_id=OrganizationId(1),
            esp=account.esp,
            name="Main",
            created_at=datetime.now(UTC),
        )
        run = SyncRun.from_report(integration, account.reported, at=datetime.now(UTC))
        plan = run.plan(integration, [])
        assert len(plan.created) + len(plan.refused) == len(account.reported)
        assert len(plan.created) >= 4


class TestCredentials:
    def test_that_are_not_accepted_are_a_refusal(self, account, stage: Staging):
        name = "client_secret" if account.esp is Esp.SALESFORCE else next(iter(account.settings))
        source = account.source(stage(account.play).url, **{name: "wr0ng-us1"})
        with pytest.raises(EspRefused, match=r"does not accept these credentials \(401\)") as error:
            list(source.fields())
        assert "wr0ng" not in str(error.value)

    @pytest.mark.parametrize("hostile", ["a\r\nX-Evil: 1", "a\nb", "ä-us1", "\x00", "a\x7f"])
    @pytest.mark.parametrize("account", BY_HEADER, indirect=True, ids=lambda a: a.esp.value)
    def test_that_no_header_can_hold_are_a_refusal(self, account, stage: Staging, hostile):
        playing = stage(account.play)
        source = account.source(playing.url, **{next(iter(account.settings)): hostile})
        with pytest.raises(EspRefused, match="characters") as error:
            list(source.fields())
        assert error.value.__context__ is None
        assert playing.heard == []

    @pytest.mark.parametrize("status", [200, 302, 400, 401, 403, 404, 418, 429, 500])
    def test_are_never_repeated(
        self, account, stage: Staging, status, caplog: pytest.LogCaptureFixture
    ):
        caplog.set_level(logging.DEBUG)

        def echo(heard: Heard) -> Act:
            told = json.dumps([*heard.headers.values(), heard.body.decode(), SECRET])
            return Played(status, told.encode(), {"X-Told": SECRET, "Retry-After": "0"})

        source = account.source(stage(echo).url)
        with pytest.raises((EspRefused, EspUnavailable)) as error:
            list(source.fields())
        told = f"{source!r} {error.value!r} {error.value.__cause__!r} {error.value.__context__!r}"
        assert SECRET not in told + caplog.text
        assert TOKEN not in told + caplog.text

    def test_are_not_shown_by_what_holds_them(self):
        headers = {"Authorization": SECRET}
        api = Api(esp=Esp.BRAZE, url="https://example.com", headers=headers, scope="")
        assert SECRET not in repr(api)

    @pytest.mark.parametrize(
        "url",
        [
            "http://example.com",
            "http://127.0.0.1.example.com",
            "ftp://127.0.0.1",
            "//127.0.0.1",
            "127.0.0.1:80",
            "https://",
            "https://me:pw@example.com",
            "https://example.com?a=b",
            "https://example.com#a",
            "https://[::1",
            "https://exa mple.com:99999",
        ],
    )
    def test_go_only_to_a_sound_url(self, account, url):
        with pytest.raises(EspRefused, match="can't use this URL: use one like") as error:
            list(account.source(url).fields())
        assert "pw@" not in str(error.value)


class TestEncryption:
    CERTIFICATE = Path(__file__).with_name("self_signed.pem")

    def test_by_a_certificate_that_nobody_knows_gets_no_credential(self, account):
        with (
            staged(account.play, certificate=self.CERTIFICATE) as stage,
            pytest.raises(EspUnavailable, match="its TLS certificate or protocol"),
        ):
            list(account.source(stage.url).fields())
        assert stage.heard == []

    def test_by_a_certificate_that_is_trusted_is_used(
        self, account, monkeypatch: pytest.MonkeyPatch
    ):
        monkeypatch.setenv("SSL_CERT_FILE", str(self.CERTIFICATE))
        with staged(account.play, certificate=self.CERTIFICATE) as stage:
            assert tuple(account.source(stage.url).fields()) == account.reported


class TestARefusal:
    @pytest.mark.parametrize(
        ("status", "sentence"),
        [
            (204, "rejects the request for its fields"),
            (400, "rejects the request for its fields"),
            (401, "does not accept these credentials"),
            (403, "does not let these credentials list fields"),
            (404, "has nothing at this address"),
            (422, "rejects the request for its fields"),
        ],
    )
    def test_is_told_at_once(self, account, stage: Staging, status, sentence):
        body = b"" if status == 204 else b'{"detail": "no"}'
        playing = stage(listing(account, [Played(status, body)]))
        with pytest.raises(EspRefused) as error:
            list(account.source(playing.url).fields())
        assert f"{DIALECTS[account.esp].title} {sentence} ({status})" in str(error.value)
        assert len(asked(playing, account)) == 1

    @pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
    def test_a_redirect_is_not_followed(self, account, stage: Staging, status):
        elsewhere = stage(account.play)
        redirect = Played(status, b"", {"Location": elsewhere.url + account.listing})
        playing = stage(listing(account, [redirect]))
        with pytest.raises(EspRefused, match="redirects"):
            list(account.source(playing.url).fields())
        assert elsewhere.heard == []
        assert len(asked(playing, account)) == 1

    @pytest.mark.parametrize(
        "body",
        [
            b"",
            b"<html>Sign in</html>",
            b"{",
            b"null",
            b"[]",
            b"{}",
            b"7",
            b'"text"',
            b"\xff\xfe\xfd",
            b"[" * 100_000,
            b"1" * 10_000,
            b'{"fields": [], "attributes": {}, "results": null, "data": 5, "merge_fields": ""}',
            (
                b'{"fields": {"a": 5}, "attributes": [5], "results": [[]], "data": [{}],'
                b' "merge_fields": [{"merge_id": true}], "reserved_fields": [{"name": 5}],'
                b' "total_items": 1, "meta": {"total": "1"}}'
            ),
            b"<!DOCTYPE x [<!ENTITY a 'aaaa'>]><x>&a;</x>",
            b"<x/>",
        ],
    )
    def test_another_answer_than_documented(self, account, stage: Staging, body):
        playing = stage(listing(account, [Played(200, body)]))
        with pytest.raises(
            EspRefused, match=r"a response that is not (as documented|JSON|XML)"
        ) as error:
            list(account.source(playing.url).fields())
        assert str(error.value).startswith(DIALECTS[account.esp].title)
        assert len(str(error.value)) < 250
        assert len(asked(playing, account)) == 1

    @pytest.mark.parametrize("packed", [False, True])
    def test_an_answer_of_any_size(self, account, stage: Staging, packed):
        limits = evolve(QUICK, max_response=100_000)
        body = b" " * 50_000_000 if packed else b" " * 200_000
        answer = Played(200, body)
        if packed:
            answer = Played(200, gzip.compress(body), {"Content-Encoding": "gzip"})
        source = account.source(stage(listing(account, [answer])).url, limits=limits)
        with pytest.raises(EspRefused, match="more than 100,000 bytes"):
            list(source.fields())


class TestTrouble:
    @pytest.mark.parametrize(
        "acts",
        [
            *([Played(status)] * 2 for status in (408, 429, 500, 502, 503, 504)),
            [Played(429, b"", {"Retry-After": "soon"}), Played(503, b"", {"Retry-After": "-5"})],
            [Played(429, b"", {"Retry-After": "Wed, 21 Oct 2015 07:28:00 GMT"})],
            [Played(503, b"", {"Retry-After": "9" * 5_000})],
            [RESET, RESET],
            [Played(200, b'{"fields": [', promised=500)] * 2,
            [[b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nabc"]],
            [[b"nonsense\r\n\r\n"]],
            [Played(200, b"not gzip", {"Content-Encoding": "gzip"})],
            [RESET, Played(500)],
        ],
        ids=lambda acts: str(acts)[:60],
    )
    def test_that_ends_is_overcome(self, account, stage: Staging, acts):
        playing = stage(listing(account, acts))
        assert tuple(account.source(playing.url).fields()) == account.reported

    @pytest.mark.parametrize(
        ("act", "sentence"),
        [
            (Played(429), r"limits the rate of requests \(429\)"),
            (Played(500), r"failed \(500\)"),
            (Played(503), r"failed \(503\)"),
            (
                Played(200, b"{", promised=99),
                "closed the connection before the end of its response",
            ),
            (RESET, "closed the connection before the end of its response"),
        ],
    )
    def test_that_stays_is_told_after_several_attempts(
        self, account, stage: Staging, act, sentence
    ):
        playing = stage(listing(account, repeat(act)))
        with pytest.raises(EspUnavailable, match=f"{sentence}.*, 3 times") as error:
            list(account.source(playing.url).fields())
        assert str(error.value).startswith(DIALECTS[account.esp].title)
        assert len(asked(playing, account)) == 3

    def test_no_answer_in_time(self, account, stage: Staging):
        playing = stage(listing(account, [HANG, HANG]))
        with pytest.raises(EspUnavailable, match="did not respond in time, 2 times"):
            list(account.source(playing.url, limits=IMPATIENT).fields())

    def test_nobody_listens(self, account):
        with socket.socket() as unused:
            unused.bind(("127.0.0.1", 0))
            url = f"http://127.0.0.1:{unused.getsockname()[1]}"
            with pytest.raises(EspUnavailable, match="no connection can be opened"):
                list(account.source(url).fields())

    @pytest.mark.parametrize("status", [429, 503])
    def test_the_esp_says_how_long_to_wait(
        self, account, stage: Staging, status, monkeypatch: pytest.MonkeyPatch
    ):
        waits: list[float] = []
        monkeypatch.setattr("recipient_fields.adapters.esp.run.sleep", waits.append)
        limits = evolve(QUICK, max_wait=60, run_timeout=120)
        until = format_datetime(datetime.now(UTC) + timedelta(seconds=50), usegmt=True)
        acts = [Played(status, b"", {"Retry-After": wait}) for wait in ("7", until)]
        playing = stage(listing(account, acts))
        assert tuple(account.source(playing.url, limits=limits).fields()) == account.reported
        assert waits[0] == 7
        assert 30 < waits[1] <= 50

    def test_else_pauses_grow_and_differ_by_chance(
        self, account, stage: Staging, monkeypatch: pytest.MonkeyPatch
    ):
        waits: list[float] = []
        monkeypatch.setattr("recipient_fields.adapters.esp.run.sleep", waits.append)
        limits = evolve(QUICK, backoff=1, attempts=7, max_wait=20, run_timeout=200)
        playing = stage(listing(account, [Played(500)] * 6))
        assert tuple(account.source(playing.url, limits=limits).fields()) == account.reported
        assert all(2**i <= wait <= 2 ** (i + 1) for i, wait in enumerate(waits[:4]))
        assert all(16 <= wait <= 20 for wait in waits[4:])
        assert len(waits) == 6
        assert any(wait != int(wait) for wait in waits)

    @pytest.mark.parametrize("status", [429, 503])
    @pytest.mark.parametrize(
        "wait", ["3600", "Fri, 31 Dec 2100 23:59:59 GMT", "3", "99999999999999999999"]
    )
    def test_an_hours_wait_is_not_waited_for(self, account, stage: Staging, status, wait):
        playing = stage(listing(account, [Played(status, b"", {"Retry-After": wait})]))
        begun = monotonic()
        with pytest.raises(EspUnavailable, match=r"requires a wait of [0-9,]+ seconds"):
            list(account.source(playing.url).fields())
        assert monotonic() - begun < 2
        assert len(asked(playing, account)) == 1

    def test_no_wait_outlasts_the_run(self, account, stage: Staging):
        limits = evolve(QUICK, run_timeout=0.9)
        playing = stage(listing(account, repeat(Played(429, b"", {"Retry-After": "1"}))))
        begun = monotonic()
        with pytest.raises(EspUnavailable, match="no time is left"):
            list(account.source(playing.url, limits=limits).fields())
        assert monotonic() - begun < 0.9

    def test_a_trickle_does_not_outlast_the_run(self, account, stage: Staging):
        def trickle() -> Iterator[bytes]:
            yield b"HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n"
            for _ in range(100):
                sleep(0.05)
                yield b" "

        limits = evolve(QUICK, run_timeout=0.4)
        playing = stage(listing(account, [trickle()]))
        begun = monotonic()
        with pytest.raises(EspUnavailable, match=r"did not list its fields within 0\.4 seconds"):
            list(account.source(playing.url, limits=limits).fields())
        assert monotonic() - begun < 1.5

    def test_an_endless_failure_is_not_read(self, account, stage: Staging):
        def endless() -> Iterator[bytes]:
            yield b"HTTP/1.1 500 Oops\r\nContent-Length: 99999999999\r\n\r\n"
            yield from repeat(b" " * 65_536)

        playing = stage(listing(account, [endless()]))
        assert tuple(account.source(playing.url).fields()) == account.reported
