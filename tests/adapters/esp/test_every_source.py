"""Behavior that every field source has."""

from __future__ import annotations

import gc
import gzip
import json
import logging
import re
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from itertools import repeat
from pathlib import Path
from time import sleep
from traceback import format_exception

import pytest
from attrs import evolve

from recipient_fields.adapters.esp.api import Api
from recipient_fields.domain.esp import BUILT_IN, Esp
from recipient_fields.domain.integrations import EspRefused, EspUnavailable

from ...support.http_server import (
    HANG,
    RESET,
    ReceivedRequest,
    Reply,
    StubResponse,
    always,
    stub_server,
)
from ...support.waiting import eventually
from .accounts import (
    ACCOUNTS,
    SECRET,
    TEST_LIMITS,
    TOKEN,
    refusal,
    soap,
    soap_fault,
    synced,
)

pytestmark = pytest.mark.slow

BY_HEADER = [account for account in ACCOUNTS if account.esp != Esp("sfmc")]
"""The ESPs with credentials in a header. Salesforce has them in the body."""

OF_RESPONSE = "r3sponse-text"
"""A text that only responses contain. It stands for a secret that the ESP repeats."""
ERRORS: Mapping[str, StubResponse] = {
    "text": StubResponse(body=OF_RESPONSE.encode()),
    "oauth": StubResponse.json({"error": OF_RESPONSE, "error_description": OF_RESPONSE}),
    "problem": StubResponse.json({"title": OF_RESPONSE, "detail": OF_RESPONSE}),
    "list": StubResponse.json({"errors": [{"code": OF_RESPONSE, OF_RESPONSE: 1}]}),
    "soap-1.1": soap_fault(f"soap:Client.{OF_RESPONSE}", OF_RESPONSE),
    "soap-1.2": soap_fault("soap:Receiver", OF_RESPONSE, version="1.2"),
    "soap-status": soap(f"Error: {OF_RESPONSE}", [("Name", "Text")]),
}
"""The forms in which ESPs describe errors."""

NAMED = [account for account in ACCOUNTS if account.name]

CLOSED = "closed the connection before the end of its response"
SECOND = timedelta(seconds=1)
SHORT_TIMEOUT = evolve(TEST_LIMITS, read_timeout=0.15, attempts=2)


def retry_after(wait: str, status: int = 503) -> StubResponse:
    return StubResponse(status, b"", {"Retry-After": wait})


def next_sync(message: str) -> datetime:
    """Return the time in the message."""
    stated = re.search(r"Sync again after ([0-9-]+ [0-9:]+) UTC\.", message)
    assert stated is not None, message
    return datetime.fromisoformat(f"{stated[1]}+00:00")


def test_every_esp_that_lists_fields_has_an_account():
    assert {account.esp for account in ACCOUNTS} == set(BUILT_IN.esps) - {
        Esp("customerio"),
        Esp("onesignal"),
    }


class TestListing:
    def test_all_fields_are_reported_in_order_and_a_source_can_be_read_again(self, account, serve):
        source = account.source(serve(account.handler).url)
        assert tuple(source.fields()) == tuple(source.fields()) == account.reported

    def test_several_threads_can_read_a_source(self, account, serve):
        source = account.source(serve(account.handler).url)
        with ThreadPoolExecutor(4) as threads:
            readings = list(threads.map(lambda _: tuple(source.fields()), range(4)))
        assert readings == [account.reported] * 4

    def test_no_request_is_sent_before_the_first_field_is_read(self, account, serve):
        server = serve(account.handler)
        account.source(server.url).fields()
        assert server.requests == []

    def test_the_iterator_can_be_closed_early(self, account, serve):
        fields = account.source(serve(account.handler).url).fields()
        assert next(fields) == account.reported[0]
        fields.close()

    @pytest.mark.parametrize(
        "replies", [[], [RESET], [StubResponse(500)], [StubResponse(200, b"{", content_length=9)]]
    )
    def test_all_connections_are_closed_at_the_end(self, account, serve, replies):
        server = serve(account.listing_after(replies))
        gc.disable()  # The garbage collector would close leaked connections.
        try:
            assert tuple(account.source(server.url).fields()) == account.reported
            eventually(lambda: server.connections == 0)
        finally:
            gc.enable()

    @pytest.mark.parametrize("prefix", ["/proxy", "/api"])
    def test_the_path_of_the_url_precedes_the_paths_of_the_api(self, account, prefix, serve):
        def proxied(request: ReceivedRequest) -> Reply:
            return account.handler(evolve(request, target=request.target.removeprefix(prefix)))

        server = serve(proxied)
        assert tuple(account.source(f"{server.url}{prefix}/").fields()) == account.reported
        listings = [request.path for request in server.requests if "token" not in request.path]
        assert set(listings) == {prefix + account.listing}

    def test_a_sync_run_accepts_the_reported_fields(self, account):
        plan = synced(account.esp, account.reported)
        assert len(plan.created) + len(plan.refused) == len(account.reported)
        assert len(plan.created) >= 4


class TestAccountName:
    def test_six_apis_name_their_account(self):
        assert {each.esp for each in NAMED} == {
            *map(Esp, ("sfmc", "mailchimp", "klaviyo", "hubspot", "sendgrid", "brevo"))
        }

    @pytest.mark.parametrize("account", NAMED, indirect=True, ids=lambda a: a.esp)
    def test_the_name_contains_what_identifies_the_account(self, account, serve):
        assert account.source(serve(account.handler).url).account_name() == account.name

    @pytest.mark.parametrize("reply", [StubResponse(403, b"{}"), StubResponse.json([])])
    @pytest.mark.parametrize("account", NAMED, indirect=True, ids=lambda a: a.esp)
    def test_credentials_that_may_not_read_it_raise_esp_refused(self, account, reply, serve):
        def handler(request: ReceivedRequest) -> Reply:
            return account.handler(request) if "token" in request.path else reply

        with pytest.raises(EspRefused):
            account.source(serve(handler).url).account_name()


class TestCredentials:
    def test_rejected_credentials_raise_esp_refused(self, account, serve):
        name = "client_secret" if account.esp == Esp("sfmc") else next(iter(account.settings))
        source = account.source(serve(account.handler).url, **{name: "wr0ng-us1"})
        message = refusal(source)
        assert "does not accept these credentials (401)" in message
        assert "wr0ng" not in message

    @pytest.mark.parametrize("hostile", ["a\r\nX-Evil: 1", "a\nb", "ä-us1", "\x00", "a\x7f"])
    @pytest.mark.parametrize("account", BY_HEADER, indirect=True, ids=lambda a: a.esp)
    def test_credentials_that_a_header_can_not_contain_raise_esp_refused(
        self, account, serve, hostile
    ):
        server = serve(account.handler)
        source = account.source(server.url, **{next(iter(account.settings)): hostile})
        with pytest.raises(EspRefused, match="characters") as error:
            list(source.fields())
        assert error.value.__context__ is None
        assert server.requests == []

    @pytest.mark.parametrize("status", [200, 302, 400, 401, 403, 404, 418, 429, 500])
    def test_no_message_or_log_contains_credentials_from_a_response(
        self, account, serve, status, caplog
    ):
        caplog.set_level(logging.DEBUG)

        def echo(request: ReceivedRequest) -> Reply:
            body = json.dumps([*request.headers.values(), request.body.decode(), SECRET])
            return StubResponse(status, body.encode(), {"X-Secret": SECRET, "Retry-After": "0"})

        source = account.source(serve(echo).url)
        with pytest.raises((EspRefused, EspUnavailable)) as error:
            list(source.fields())
        shown = f"{source!r} {error.value!r} {error.value.__cause__!r} {error.value.__context__!r}"
        assert SECRET not in shown + caplog.text
        assert TOKEN not in shown + caplog.text

    @pytest.mark.parametrize("status", [200, 400, 401, 403, 404, 500])
    @pytest.mark.parametrize("error", ERRORS, ids=ERRORS)
    def test_no_message_or_log_quotes_an_error_of_the_esp(
        self, account, serve, error, status, caplog
    ):
        caplog.set_level(logging.DEBUG)
        reply = evolve(ERRORS[error], status=status)
        for handler in (always(reply), account.listing_after(repeat(reply))):
            with pytest.raises((EspRefused, EspUnavailable)) as raised:
                list(account.source(serve(handler).url).fields())
            shown = "".join(format_exception(raised.value))
            assert OF_RESPONSE not in f"{shown} {raised.value.__context__!r} {caplog.text}"

    def test_the_repr_of_an_api_contains_no_credentials(self):
        headers = {"Authorization": SECRET}
        api = Api(esp=Esp("braze"), url="https://example.com", headers=headers, scope="")
        assert SECRET not in repr(api)

    @pytest.mark.parametrize(
        "url",
        [
            *("http://example.com", "http://127.0.0.1.example.com", "ftp://127.0.0.1"),
            *("//127.0.0.1", "127.0.0.1:80", "https://", "https://me:pw@example.com"),
            *("https://example.com?a=b", "https://example.com#a", "https://[::1"),
            "https://exa mple.com:99999",
        ],
    )
    def test_an_invalid_or_unencrypted_url_raises_esp_refused(self, account, url):
        message = refusal(account.source(url))
        assert f"can't use the URL in RECIPIENT_FIELDS_{account.esp.upper()}_URL: use" in message
        assert "pw@" not in message


class TestEncryption:
    CERTIFICATE = Path(__file__).with_name("self_signed.pem")

    def test_no_credentials_are_sent_if_the_certificate_is_untrusted(self, account):
        with stub_server(account.handler, certificate=self.CERTIFICATE) as server:
            assert "its TLS certificate or protocol" in refusal(account.source(server.url))
        assert server.requests == []

    def test_a_certificate_in_ssl_cert_file_is_trusted(self, account, monkeypatch):
        monkeypatch.setenv("SSL_CERT_FILE", str(self.CERTIFICATE))
        with stub_server(account.handler, certificate=self.CERTIFICATE) as server:
            assert tuple(account.source(server.url).fields()) == account.reported


class TestRefusals:
    @pytest.mark.parametrize(
        ("status", "sentence"),
        [
            (204, "rejects the request to list its fields"),
            (400, "rejects the request to list its fields"),
            (401, "does not accept these credentials"),
            (403, "does not let these credentials list its fields"),
            (404, "has nothing at this address"),
            (422, "rejects the request to list its fields"),
        ],
    )
    def test_a_rejected_request_is_not_retried(self, account, serve, status, sentence):
        body = b"" if status == 204 else b'{"detail": "no"}'
        server = serve(account.listing_after([StubResponse(status, body)]))
        message = refusal(account.source(server.url))
        assert f"{BUILT_IN[account.esp].title} {sentence} ({status})" in message
        assert len(account.listings(server)) == 1

    @pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
    def test_a_redirect_is_not_followed(self, account, serve, status):
        target = serve(account.handler)
        redirect = StubResponse(status, b"", {"Location": target.url + account.listing})
        server = serve(account.listing_after([redirect]))
        assert "redirects" in refusal(account.source(server.url))
        assert target.requests == []
        assert len(account.listings(server)) == 1

    @pytest.mark.parametrize(
        "body",
        [
            *(b"", b"<html>Sign in</html>", b"{", b"null", b"[]", b"{}", b"7", b'"text"'),
            *(b"\xff\xfe\xfd", b"[" * 100_000, b"1" * 10_000),
            b'{"fields": [], "attributes": {}, "results": null, "data": 5, "merge_fields": ""}',
            (
                b'{"fields": [5], "attributes": [5], "results": [[]], "data": [{}],'
                b' "merge_fields": [{"merge_id": true}], "reserved_fields": [{"name": 5}],'
                b' "total_items": 1, "meta": {"total": "1"}}'
            ),
            b"<!DOCTYPE x [<!ENTITY a 'aaaa'>]><x>&a;</x>",
            b"<x/>",
        ],
    )
    def test_an_undocumented_response_raises_esp_refused(self, account, serve, body):
        server = serve(account.listing_after([StubResponse(200, body)]))
        # A finalizer of garbage fails if it runs while the parser is at the recursion limit.
        gc.collect()
        message = refusal(account.source(server.url))
        assert re.search(r"a response that is not (as documented|JSON|XML)", message)
        assert message.startswith(BUILT_IN[account.esp].title)
        assert len(message) < 250
        assert len(account.listings(server)) == 1

    @pytest.mark.parametrize("compressed", [False, True])
    def test_a_response_above_the_size_limit_raises_esp_refused(self, account, serve, compressed):
        limits = evolve(TEST_LIMITS, max_response=100_000)
        body = b" " * 50_000_000 if compressed else b" " * 200_000
        response = StubResponse(200, body)
        if compressed:
            response = StubResponse(200, gzip.compress(body), {"Content-Encoding": "gzip"})
        source = account.source(serve(account.listing_after([response])).url, limits=limits)
        assert "more than 100,000 bytes" in refusal(source)


class TestTemporaryFailures:
    @pytest.mark.parametrize(
        "replies",
        [
            *(
                [StubResponse(status)] * 2
                for status in (408, 429, 500, 502, 503, 504, *range(520, 530))
            ),
            [retry_after("soon", 429), retry_after("-5")],
            [retry_after("Wed, 21 Oct 2015 07:28:00 GMT", 429)],
            [retry_after("9" * 5_000)],
            [RESET, RESET],
            [StubResponse(200, b'{"fields": [', content_length=500)] * 2,
            [[b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nabc"]],
            [[b"nonsense\r\n\r\n"]],
            [StubResponse(200, b"not gzip", {"Content-Encoding": "gzip"})],
            [RESET, StubResponse(500)],
        ],
        ids=lambda replies: str(replies)[:60],
    )
    def test_a_temporary_failure_is_retried(self, account, serve, replies):
        server = serve(account.listing_after(replies))
        assert tuple(account.source(server.url).fields()) == account.reported

    @pytest.mark.parametrize(
        ("reply", "sentence"),
        [
            (StubResponse(429), r"limits the rate of requests \(429\)"),
            (StubResponse(500), r"failed \(500\)"),
            (StubResponse(503), r"failed \(503\)"),
            (StubResponse(200, b"{", content_length=99), CLOSED),
            (RESET, CLOSED),
        ],
    )
    def test_a_repeated_failure_raises_esp_unavailable(self, account, serve, reply, sentence):
        server = serve(account.listing_after(repeat(reply)))
        message = refusal(account.source(server.url), EspUnavailable)
        assert re.match(f"{BUILT_IN[account.esp].title} {sentence}.*, in 3 attempts", message)
        assert len(account.listings(server)) == 3

    def test_a_timeout_raises_esp_unavailable(self, account, serve):
        server = serve(account.listing_after([HANG, HANG]))
        source = account.source(server.url, limits=SHORT_TIMEOUT)
        assert "did not respond in time, in 2 attempts" in refusal(source, EspUnavailable)

    @pytest.mark.parametrize("status", [429, 503])
    def test_a_retry_waits_as_long_as_retry_after_says(self, account, serve, status, waits):
        limits = evolve(TEST_LIMITS, run_timeout=120)
        until = format_datetime(datetime.now(UTC) + timedelta(seconds=50), usegmt=True)
        replies = [retry_after("7", status), retry_after(until, status)]
        server = serve(account.listing_after(replies))
        assert tuple(account.source(server.url, limits=limits).fields()) == account.reported
        assert 7 <= waits[0] < 7.1
        assert 30 < waits[1] < 50.1

    def test_the_backoff_is_exponential_with_jitter(self, account, serve, waits):
        limits = evolve(TEST_LIMITS, backoff=1, attempts=7, max_backoff=20, run_timeout=200)
        server = serve(account.listing_after([StubResponse(500)] * 6))
        assert tuple(account.source(server.url, limits=limits).fields()) == account.reported
        assert all(2**i / 2 <= wait <= 2**i for i, wait in enumerate(waits[:5]))
        assert 10 <= waits[5] <= 20
        assert len(waits) == 6
        assert any(wait != int(wait) for wait in waits)

    @pytest.mark.parametrize("status", [429, 503])
    @pytest.mark.parametrize(
        ("wait", "seconds"),
        [
            ("3600", 3_600),
            ("Fri, 31 Dec 2100 23:59:59 GMT", 2**31),
            ("21", 21),
            ("99999999999999999999", 2**31),
        ],
    )
    def test_a_wait_beyond_the_deadline_ends_the_run_with_the_time_of_the_next(
        self, account, serve, status, wait, seconds, waits
    ):
        server = serve(account.listing_after([retry_after(wait, status)]))
        began = datetime.now(UTC)
        message = refusal(account.source(server.url), EspUnavailable)
        ended = datetime.now(UTC)
        assert waits == []
        assert len(account.listings(server)) == 1
        earliest, latest = (at + timedelta(seconds=seconds) for at in (began, ended))
        assert earliest - SECOND <= next_sync(message) <= latest + SECOND

    def test_a_retry_that_would_exceed_the_deadline_is_not_sent(self, account, serve, waits):
        limits = evolve(TEST_LIMITS, run_timeout=10, backoff=40, max_backoff=40)
        server = serve(account.listing_after(repeat(StubResponse(500))))
        message = refusal(account.source(server.url, limits=limits), EspUnavailable)
        assert "no time is left for a retry. Sync again later" in message
        assert len(account.listings(server)) == 1
        assert waits == []

    def test_a_slow_response_does_not_exceed_the_deadline_of_the_run(self, account, serve):
        def slow_response() -> Iterator[bytes]:
            yield b"HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n"
            for _ in range(200):  # for ten seconds
                sleep(0.05)
                yield b" "

        limits = evolve(TEST_LIMITS, run_timeout=0.4)
        server = serve(account.listing_after([slow_response()]))
        source = account.source(server.url, limits=limits)
        assert "did not list its fields within 0.4 seconds" in refusal(source, EspUnavailable)

    def test_the_body_of_a_failure_is_not_read(self, account, serve):
        def endless() -> Iterator[bytes]:
            yield b"HTTP/1.1 500 Oops\r\nContent-Length: 99999999999\r\n\r\n"
            yield from repeat(b" " * 65_536)

        server = serve(account.listing_after([endless()]))
        assert tuple(account.source(server.url).fields()) == account.reported
