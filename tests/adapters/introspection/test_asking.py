"""What an issuer is asked, and whatever it does instead of answering."""

from __future__ import annotations

import logging
import socket
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing
from itertools import chain, repeat
from pathlib import Path
from threading import Event
from traceback import format_exception
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from recipient_fields.adapters.introspection import (
    IntrospectionKeyValidator,
    Issuer,
    basic,
    bearer,
)
from recipient_fields.domain import (
    Credential,
    KeyValidationUnavailable,
    PlainKey,
    Rejection,
    RejectionReason,
)

from ...support.http_server import (
    HANG,
    RESET,
    Act,
    Heard,
    Play,
    Played,
    Stage,
    always,
    in_turn,
    staged,
)
from .issuers import CLAIMS, SECRET, TOKEN, Clock, Tokens, validator_at

HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"
GOOD = Played.json({"active": True, **CLAIMS})

Make = Callable[..., IntrospectionKeyValidator]


def dripping(begun: bytes) -> Iterator[bytes]:
    """An answer that begins so, and then goes on for long, byte by byte."""
    yield begun
    for byte in repeat(b"0", 200):
        time.sleep(0.02)
        yield byte


def unavailable(validator: IntrospectionKeyValidator, token: str = TOKEN) -> str:
    """The sentence by which the validator says that it can't tell, which shows nothing secret."""
    with pytest.raises(KeyValidationUnavailable) as error:
        validator.validate(token)
    shown = "".join(format_exception(error.value))
    assert token not in shown
    assert SECRET not in shown
    assert error.value.__cause__ is error.value.__context__ is None
    return str(error.value)


class TestTheQuestion:
    def test_is_a_form_that_names_the_token_and_its_kind(
        self, validator: IntrospectionKeyValidator, issuer: Stage
    ) -> None:
        assert isinstance(validator.validate(TOKEN), Credential)

        (heard,) = issuer.heard  # The issuer has looked at client, form and media type.
        assert heard.target == "/introspect"
        assert heard.headers["accept"] == "application/json"
        assert TOKEN not in str(heard.headers)

    def test_comes_from_a_client_that_proves_itself_by_a_token_of_its_own(
        self, issuer: Stage
    ) -> None:
        authorization = bearer("mF_9.B5f-4.1JqM")
        issuer.play = lambda _: GOOD
        asked = Issuer(url=issuer.url, authorization=authorization)
        with closing(IntrospectionKeyValidator(asked)) as validator:
            assert isinstance(validator.validate(TOKEN), Credential)

        assert issuer.heard[0].headers["authorization"] == "Bearer mF_9.B5f-4.1JqM"
        assert issuer.heard[0].target == "/"
        assert "mF_9" not in repr(asked)

    def test_is_asked_again_for_each_request_over_one_connection(
        self, validator: IntrospectionKeyValidator, issuer: Stage
    ) -> None:
        connections = set()
        for _ in range(5):
            assert isinstance(validator.validate(TOKEN), Credential)
            connections.add(issuer.connections)

        assert len(issuer.heard) == 5
        assert connections == {1}

    def test_is_not_asked_about_a_key_of_ours(
        self, validator: IntrospectionKeyValidator, issuer: Stage
    ) -> None:
        outcome = validator.validate(PlainKey.generate().reveal())
        assert outcome == Rejection(RejectionReason.UNKNOWN)
        assert issuer.heard == []


def test_basic_credentials_are_encoded_as_the_rfc_says() -> None:
    assert basic("s6BhdRkqt3", "7Fjfp0ZBr1KtDRbnfVdmIw") == (
        "Basic czZCaGRSa3F0Mzo3RmpmcDBaQnIxS3REUmJuZlZkbUl3"
    )


def test_a_token_that_is_not_active_is_no_key(
    validator: IntrospectionKeyValidator, tokens: Tokens
) -> None:
    assert validator.validate("another-token") == Rejection(RejectionReason.UNKNOWN)
    assert tokens.asked == ["another-token"]


def test_a_token_revoked_between_two_requests_is_refused_at_the_second(
    validator: IntrospectionKeyValidator, tokens: Tokens
) -> None:
    assert isinstance(validator.validate(TOKEN), Credential)

    del tokens.active[TOKEN]

    assert validator.validate(TOKEN) == Rejection(RejectionReason.UNKNOWN)


def test_our_own_credentials_refused_leave_it_untold(asking: Make, tokens: Tokens) -> None:
    told = unavailable(asking(secret="wrong"))

    assert told == "The token issuer does not accept this service's own credentials (401)."
    assert tokens.asked == []


HTML = Played(200, b"<html>Sign in</html>", {"Content-Type": "text/html"})
ANSWERS: dict[str, tuple[Act, str]] = {
    "500": (Played(500, b'{"active": true}'), "failed (500)"),
    "503": (Played(503), "failed (503)"),
    "429": (Played(429, headers={"Retry-After": "60"}), "limits the rate of requests (429)"),
    "400": (Played(400, b'{"active": true}'), "failed (400)"),
    "403": (Played(403), "does not let this service's own credentials introspect (403)"),
    "404": (Played(404), "has nothing at this URL (404)"),
    "201": (Played(201, GOOD.body), "failed (201)"),
    "HTML": (HTML, "not match RFC 7662"),
    "nothing": (Played(), "not match RFC 7662"),
    "no object": (Played.json([True]), "not match RFC 7662"),
    "no active": (Played.json(CLAIMS), "not match RFC 7662"),
    "active as text": (Played.json({**CLAIMS, "active": "true"}), "not match RFC 7662"),
    "active as number": (Played.json({**CLAIMS, "active": 1}), "not match RFC 7662"),
    "active and NaN": (Played(200, b'{"active": true, "x": NaN}'), "not match RFC 7662"),
    "nested too deep": (Played(200, b"[" * 60_000), "not match RFC 7662"),
    "another encoding": (
        Played(200, '{"active": true}'.encode("utf-16")),
        "not match RFC 7662",
    ),
    "compressed": (
        Played(200, b"\x1f\x8b", {"Content-Encoding": "gzip"}),
        "not match RFC 7662",
    ),
    "a huge body": (Played.json({"active": True, "x": "a" * 70_000}), "more than 65,536 bytes"),
    "an endless body": (
        chain([HEAD + b"\r\n"], repeat(b" " * 65_536, 10_000)),
        "more than 65,536 bytes",
    ),
    "a redirect": (Played(307, headers={"Location": "/elsewhere"}), "redirects to another"),
    "a reset": (RESET, "closed the connection"),
    "half a body": (Played(200, GOOD.body[:20], promised=500), "closed the connection"),
    "no HTTP": ([b"SSH-2.0-OpenSSH_9.2\r\n"], "closed the connection"),
}


@pytest.mark.parametrize(("act", "told"), ANSWERS.values(), ids=ANSWERS)
def test_whatever_is_no_introspection_leaves_it_untold(
    validator: IntrospectionKeyValidator, issuer: Stage, act: Act, told: str
) -> None:
    issuer.play = lambda _: act

    assert told in unavailable(validator)
    assert len(issuer.heard) <= 2
    assert {heard.path for heard in issuer.heard} == {"/introspect"}


SLOW: dict[str, Callable[[], Act]] = {
    "no answer": lambda: HANG,
    "a status line that drips": lambda: dripping(b""),
    "a header that drips": lambda: dripping(HEAD + b"X-Slow: "),
    "a body that drips": lambda: dripping(HEAD + b"Content-Length: 1000\r\n\r\n"),
    "a chunk's size that drips": lambda: dripping(HEAD + b"Transfer-Encoding: chunked\r\n\r\n"),
    "a body without length that drips": lambda: dripping(HEAD + b"Connection: close\r\n\r\n"),
}


@pytest.mark.parametrize("act", SLOW.values(), ids=SLOW)
def test_whoever_is_slow_is_given_up_in_time(
    asking: Make, issuer: Stage, act: Callable[[], Act]
) -> None:
    issuer.play = lambda _: act()
    validator = asking(timeout=0.4)

    began = time.monotonic()
    told = unavailable(validator)

    assert told == "The token issuer did not respond in time."
    assert 0.35 < time.monotonic() - began < 1


def test_an_answer_that_begins_late_and_stops_gets_no_second_deadline(
    asking: Make, issuer: Stage
) -> None:
    def late(_: Heard) -> Iterator[bytes]:
        time.sleep(0.7)
        yield HEAD
        issuer.closing.wait(10)

    issuer.play = late
    validator = asking(timeout=1)

    began = time.monotonic()
    told = unavailable(validator)

    assert told == "The token issuer did not respond in time."
    assert 0.9 < time.monotonic() - began < 1.5


def test_an_answer_that_comes_in_pieces_but_in_time_is_read(asking: Make, issuer: Stage) -> None:
    whole = HEAD + b"Content-Length: %d\r\n\r\n" % len(GOOD.body) + GOOD.body

    def pieces(_: Heard) -> Iterator[bytes]:
        for start in range(0, len(whole), 40):
            time.sleep(0.01)
            yield whole[start : start + 40]

    issuer.play = pieces

    assert isinstance(asking(timeout=1).validate(TOKEN), Credential)


def test_a_name_that_is_looked_up_for_ever_is_given_up_in_time(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    over = Event()
    monkeypatch.setattr(socket, "getaddrinfo", lambda *_, **__: over.wait(10) and [])
    began = time.monotonic()

    with closing(validator_at("https://issuer.example", timeout=0.3)) as validator:
        told = unavailable(validator)

    over.set()
    assert told == "The token issuer did not respond in time."
    assert time.monotonic() - began < 1


@pytest.mark.parametrize("host", ["issuer.invalid", "a..b.invalid"])
def test_an_unknown_host_can_not_be_reached(host: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def unknown(*_: object, **__: object) -> None:
        if ".." in host:
            raise UnicodeError("label empty or too long")
        raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")

    monkeypatch.setattr(socket, "getaddrinfo", unknown)

    with closing(validator_at(f"https://{host}")) as validator:
        assert unavailable(validator).endswith("can't be reached: its host name can't be resolved.")


def test_an_address_that_answers_is_found_behind_one_that_does_not(
    asking: Make, issuer: Stage, free_port: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    look_up = socket.getaddrinfo

    def look_up_both(host: str, port: int, **kind: Any) -> list[Any]:
        return [*look_up(host, free_port, **kind), *look_up(host, port, **kind)]

    monkeypatch.setattr(socket, "getaddrinfo", look_up_both)

    assert isinstance(asking().validate(TOKEN), Credential)


def test_an_address_that_keeps_silent_leaves_time_for_the_next_one(
    asking: Make, issuer: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    with ExitStack() as sockets:
        deaf = sockets.enter_context(socket.create_server(("127.0.0.1", 0), backlog=0))
        for _ in range(3):  # Once its queue is full, the system answers nobody.
            waiting = sockets.enter_context(socket.socket())
            waiting.setblocking(False)
            waiting.connect_ex(deaf.getsockname())
        look_up = socket.getaddrinfo

        def look_up_both(host: str, port: int, **kind: Any) -> list[Any]:
            silent = deaf.getsockname()[1]
            return [*look_up(host, silent, **kind), *look_up(host, port, **kind)]

        monkeypatch.setattr(socket, "getaddrinfo", look_up_both)
        began = time.monotonic()

        assert isinstance(asking(timeout=0.8).validate(TOKEN), Credential)
        assert 0.35 < time.monotonic() - began < 0.8


def test_nobody_at_the_address_is_told(free_port: int) -> None:
    with closing(validator_at(f"http://127.0.0.1:{free_port}")) as validator:
        told = unavailable(validator)

    assert told == "The token issuer can't be reached: no connection can be opened."


class TestEncryption:
    CERTIFICATE = Path(__file__).parents[1] / "esp" / "self_signed.pem"

    def test_by_a_certificate_that_nobody_knows_gets_no_token(self, play: Play) -> None:
        with (
            staged(play, certificate=self.CERTIFICATE) as stage,
            closing(validator_at(stage.url)) as validator,
        ):
            assert "its TLS certificate or protocol is not accepted" in unavailable(validator)
        assert stage.heard == []

    def test_by_a_certificate_that_is_trusted_is_used(
        self, play: Play, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("SSL_CERT_FILE", str(self.CERTIFICATE))
        with (
            staged(play, certificate=self.CERTIFICATE) as stage,
            closing(validator_at(stage.url)) as validator,
        ):
            assert isinstance(validator.validate(TOKEN), Credential)
            assert isinstance(validator.validate(TOKEN), Credential)
            assert stage.connections == 1

    def test_that_is_never_agreed_upon_is_given_up_in_time(self) -> None:
        with socket.create_server(("127.0.0.1", 0)) as mute:
            url = f"https://127.0.0.1:{mute.getsockname()[1]}"
            with closing(validator_at(url, timeout=0.3)) as validator:
                began = time.monotonic()
                assert unavailable(validator).endswith("did not respond in time.")
                assert time.monotonic() - began < 1

    def test_and_an_answer_that_drips_are_given_up_in_time(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("SSL_CERT_FILE", str(self.CERTIFICATE))

        def play(_: Heard) -> Act:
            return dripping(HEAD + b"Content-Length: 1000\r\n\r\n")

        with (
            staged(play, certificate=self.CERTIFICATE) as stage,
            closing(validator_at(stage.url, timeout=0.4)) as validator,
        ):
            began = time.monotonic()
            assert unavailable(validator).endswith("did not respond in time.")
            assert time.monotonic() - began < 1


def test_a_connection_that_the_issuer_has_given_up_is_made_anew(
    validator: IntrospectionKeyValidator, issuer: Stage, tokens: Tokens
) -> None:
    assert isinstance(validator.validate(TOKEN), Credential)
    issuer.play = in_turn([RESET], tokens)

    assert isinstance(validator.validate(TOKEN), Credential)


def test_after_an_answer_that_was_not_read_to_its_end_the_next_one_is_the_right_one(
    validator: IntrospectionKeyValidator, issuer: Stage, tokens: Tokens
) -> None:
    leftover = b'{"active": true, "organization_id": 666, "scope": "recipient_fields:write"}'
    issuer.play = in_turn([Played(500, leftover), Played(200, b" " * 70_000 + leftover)], tokens)

    for _ in range(2):
        unavailable(validator)

    assert validator.validate("another-token") == Rejection(RejectionReason.UNKNOWN)


class TestAnIssuerThatHasStoppedAnswering:
    """Three silences in a row, and nobody waits for it but one at a time, a second apart."""

    @pytest.fixture
    def validator(self, asking: Make) -> IntrospectionKeyValidator:
        return asking(timeout=0.2)

    def silence(self, validator: IntrospectionKeyValidator, issuer: Stage) -> None:
        issuer.play = lambda _: HANG
        for _ in range(3):
            assert "in time" in unavailable(validator)
        issuer.heard.clear()

    def test_is_spared_for_a_second_and_so_are_those_who_wait(
        self, validator: IntrospectionKeyValidator, issuer: Stage
    ) -> None:
        self.silence(validator, issuer)
        began = time.monotonic()

        for _ in range(50):
            assert "has not responded lately" in unavailable(validator)

        assert time.monotonic() - began < 0.2
        assert issuer.heard == []

    def test_is_then_asked_by_one_alone(
        self, validator: IntrospectionKeyValidator, issuer: Stage
    ) -> None:
        self.silence(validator, issuer)
        time.sleep(1.05)

        with ThreadPoolExecutor(8) as pool:
            told = list(pool.map(lambda _: unavailable(validator), range(8)))

        assert len(issuer.heard) == 1
        assert sorted("lately" in sentence for sentence in told) == [False] + [True] * 7

    def test_is_asked_by_everybody_again_once_it_answers_whatever_that_is(
        self, validator: IntrospectionKeyValidator, issuer: Stage, tokens: Tokens
    ) -> None:
        self.silence(validator, issuer)
        issuer.play = in_turn([Played(500)], tokens)
        time.sleep(1.05)

        assert "failed (500)" in unavailable(validator)
        assert all(isinstance(validator.validate(TOKEN), Credential) for _ in range(3))

    def test_still_has_no_say_in_what_can_be_no_token(
        self, validator: IntrospectionKeyValidator, issuer: Stage
    ) -> None:
        self.silence(validator, issuer)

        assert validator.validate("no token") == Rejection(RejectionReason.MALFORMED)


def test_answers_that_are_failures_shut_nobody_out(
    validator: IntrospectionKeyValidator, issuer: Stage
) -> None:
    """Else a client could, by tokens that the issuer chokes on."""
    issuer.play = lambda heard: Played(500) if b"choke" in heard.body else GOOD

    for _ in range(10):
        assert "failed (500)" in unavailable(validator, "choke")

    assert isinstance(validator.validate(TOKEN), Credential)


def test_no_token_and_no_secret_shows_in_the_log_whatever_the_issuer_does(
    asking: Make, issuer: Stage, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    echo = TOKEN.encode()
    acts: list[Act] = [
        GOOD,
        Played.json({"active": True, "organization_id": TOKEN, "scope": TOKEN}),
        Played.json({"active": True, **CLAIMS, "client_id": TOKEN}),
        Played.json({"active": TOKEN}),
        Played(200, echo),
        Played(401, echo, {"WWW-Authenticate": TOKEN}),
        Played(302, headers={"Location": f"/?{TOKEN}"}),
        Played(500, echo),
        [echo + b"\r\n\r\n"],
        [HEAD + echo + b"\r\n\r\n"],
        [HEAD + b"Transfer-Encoding: chunked\r\n\r\n" + echo + b"\r\n"],
        [HEAD + b"Content-Length: " + echo + b"\r\n\r\n"],
    ]
    shown = []
    for act in acts:
        issuer.play = always(act)
        validator = asking()
        try:
            validator.validate(TOKEN)
        except KeyValidationUnavailable as error:
            shown.append("".join(format_exception(error)))
        shown.append(repr(validator))

    assert len(shown) > len(acts)
    told = caplog.text + "".join(shown)
    assert TOKEN not in told.replace("%3D", "=")
    assert SECRET not in told
    assert basic("fields & co", SECRET) not in told


@given(st.data())
@settings(deadline=None, max_examples=60)
def test_a_damaged_answer_is_read_or_leaves_it_untold(data: st.DataObject) -> None:
    whole = HEAD + b"Content-Length: %d\r\n\r\n" % len(GOOD.body) + GOOD.body
    at = data.draw(st.integers(0, len(whole) - 1), label="at")
    damage = data.draw(st.binary(max_size=3), label="damage")
    with (
        staged(lambda _: [whole[:at] + damage + whole[at + 1 :]]) as stage,
        closing(validator_at(stage.url, timeout=0.5)) as validator,
    ):
        sentence = ""
        try:
            validator.validate(TOKEN)
        except KeyValidationUnavailable as error:
            sentence = str(error)
    assert sentence.isprintable()


def test_a_clock_that_jumps_changes_no_deadline(asking: Make) -> None:
    clock = Clock()
    clock.move(10**9)

    assert isinstance(asking(clock=clock).validate(TOKEN), Credential)
