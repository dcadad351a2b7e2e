"""The search for secrets finds each kind of secret, and nothing else that the service logs."""

from __future__ import annotations

import logging
from collections.abc import Callable

import pytest

from recipient_fields.domain import PlainKey, SecretToken
from recipient_fields.entrypoints.console.requests import csrf_token

from .redaction import SECRET, SecretDetector, log_lines_with_secrets

SECRETS: dict[str, Callable[[], str]] = {
    "API key": lambda: PlainKey.generate().reveal(),
    "token": lambda: SecretToken.generate().reveal(),
    "CSRF token": lambda: csrf_token(SecretToken.generate().reveal()),
}
each_secret = pytest.mark.parametrize("generate", SECRETS.values(), ids=SECRETS)


@each_secret
@pytest.mark.parametrize("text", ["{}", "/console/invitations/{}", "token={}&x", "('{}', 1)"])
def test_a_secret_in_a_record_is_found(generate: Callable[[], str], text: str) -> None:
    detector = SecretDetector()
    for _ in range(100):
        record = logging.makeLogRecord({"msg": "%s", "args": (text.format(generate()),)})
        detector.emit(record)
    assert len(detector.found) == 100


@each_secret
def test_a_secret_in_the_facts_or_the_traceback_of_a_record_is_found(
    generate: Callable[[], str],
) -> None:
    detector = SecretDetector()
    detector.emit(logging.makeLogRecord({"facts": {"path": generate()}}))
    detector.emit(logging.makeLogRecord({"exc_info": (ValueError, ValueError(generate()), None)}))
    assert len(detector.found) == 2


@each_secret
def test_a_secret_in_a_line_of_the_log_is_found(generate: Callable[[], str]) -> None:
    line = f'{{"event": "{generate()}"}}'
    assert log_lines_with_secrets(f"greeting\n{line}\n") == [line]


@pytest.mark.parametrize(
    "text",
    [
        "rfk_0123…oEA9",
        "a" * 43,
        "test_a_service_that_can_no_longer_connect_x",
        "f0e4c2f76c58916ec258f246851bea09",
        "recipient_fields.entrypoints.service.composition",
    ],
)
def test_other_texts_are_not_secrets(text: str) -> None:
    assert SECRET.search(text) is None
