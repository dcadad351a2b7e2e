"""The translation of PostgreSQL's errors by SQLSTATE."""

from __future__ import annotations

import psycopg
import pytest
from attrs import define
from psycopg.pq import DiagnosticField
from psycopg_pool import PoolClosed, PoolTimeout

from recipient_fields.adapters.postgres.connection import ResponseTimeout
from recipient_fields.adapters.postgres.errors import (
    is_retryable,
    one_line,
    retry_once,
    translated_errors,
)
from recipient_fields.domain import DigestTaken, InvalidField, Rule, StorageUnavailable

from ...support.messages import are_sentences

KEY_ONCE = "recipient_fields_key_once"

# fmt: off
UNAVAILABLE = {
    "26000",
    "08000", "08001", "08003", "08004", "08006", "08007", "08P01", "25006", "25P03", "25P04",
    "28000", "28P01", "3D000", "40001", "40P01", "42P01", "53000", "53100", "53200", "53300",
    "53400", "55P03", "57014", "57P01", "57P02", "57P03", "57P04", "57P05", "58030",
}
# fmt: on
REFUSED = {
    "22001": Rule.TOO_LONG,
    "22003": Rule.OUT_OF_RANGE,
    "22021": Rule.INVALID_CHARACTERS,
    "22P02": Rule.FORMAT,
    "22P05": Rule.INVALID_CHARACTERS,
    "54000": Rule.TOO_LONG,
    "54001": Rule.TOO_LONG,
}
KNOWN = {
    error.sqlstate
    for error in vars(psycopg.errors).values()
    if isinstance(error, type) and issubclass(error, psycopg.Error) and error.sqlstate
}
"""Every SQLSTATE that psycopg has a name for."""

OUTAGES = {state for state in KNOWN if state in UNAVAILABLE or state[:2] in {"08", "28", "53"}}


def error_of(sqlstate: str) -> psycopg.Error:
    return psycopg.errors.lookup(sqlstate)("the server's words")


@pytest.mark.parametrize("sqlstate", sorted(UNAVAILABLE))
def test_temporary_errors_of_the_server_are_unavailable(sqlstate):
    with pytest.raises(StorageUnavailable, match=sqlstate), translated_errors():
        raise error_of(sqlstate)


@pytest.mark.parametrize(
    "error",
    [
        psycopg.OperationalError("server closed the connection unexpectedly"),
        PoolTimeout("couldn't get a connection"),
        PoolClosed("closed"),
        ResponseTimeout("no response"),
    ],
    ids=repr,
)
def test_a_lost_connection_is_unavailable(error):
    message = f"PostgreSQL: {error}"
    with pytest.raises(StorageUnavailable, match=message) as raised, translated_errors():
        raise error
    assert raised.value.__cause__ is error


@pytest.mark.parametrize(("sqlstate", "rule"), REFUSED.items())
def test_a_value_that_can_not_be_stored_is_invalid_and_not_shown(sqlstate, rule):
    with pytest.raises(InvalidField) as raised, translated_errors():
        raise error_of(sqlstate)
    [violation] = raised.value.violations
    assert violation.rule is rule
    assert "words" not in violation.message
    assert are_sentences(violation.message)


def test_all_other_errors_of_the_server_pass_unchanged() -> None:
    errors = [error_of(sqlstate) for sqlstate in sorted(KNOWN - OUTAGES - set(REFUSED))]
    assert len(errors) > 200
    for error in errors:
        with pytest.raises(type(error)) as raised, translated_errors():
            raise error
        assert raised.value is error


@pytest.mark.parametrize(
    "error", [psycopg.ProgrammingError("bad placeholder"), psycopg.InterfaceError("closed cursor")]
)
def test_errors_of_usage_pass_unchanged(error):
    with pytest.raises(type(error)), translated_errors():
        raise error


def test_a_text_that_psycopg_rejects_is_invalid() -> None:
    with pytest.raises(InvalidField) as raised, translated_errors():
        raise psycopg.DataError("PostgreSQL text fields cannot contain NUL (0x00) bytes")
    assert [each.rule for each in raised.value.violations] == [Rule.INVALID_CHARACTERS]


def violation_of(constraint: str) -> psycopg.Error:
    diagnostics: dict[int, bytes | None] = {DiagnosticField.CONSTRAINT_NAME: constraint.encode()}
    return psycopg.errors.UniqueViolation("the server's words", info=diagnostics)


def test_conflicts_and_deallocated_statements_are_retryable() -> None:
    again = {sqlstate for sqlstate in KNOWN if is_retryable(error_of(sqlstate))}
    assert again == {"26000", "40001", "40P01"}


def test_a_key_that_two_transactions_insert_at_once_is_retryable() -> None:
    assert is_retryable(violation_of(KEY_ONCE))
    assert is_retryable(violation_of(f"{KEY_ONCE}_102022"))  # in a shard
    assert not is_retryable(violation_of(f"{KEY_ONCE}_of_another_table"))
    with pytest.raises(StorageUnavailable, match="23505"), translated_errors():
        raise violation_of(KEY_ONCE)


def test_a_digest_that_exists_in_a_shard_is_taken() -> None:
    with pytest.raises(DigestTaken), translated_errors():
        raise violation_of("api_keys_digest_once_102043")


def reported(error: type[psycopg.Error], message: str) -> psycopg.Error:
    diagnostics: dict[int, bytes | None] = {DiagnosticField.MESSAGE_PRIMARY: message.encode()}
    return error(f"{message}\nHINT: buy another", info=diagnostics)


def test_a_digest_that_a_worker_reports_in_its_message_is_taken() -> None:
    message = 'duplicate key value violates unique constraint "api_keys_digest_once_102043"'
    with pytest.raises(DigestTaken), translated_errors():
        raise reported(psycopg.errors.UniqueViolation, message)


def test_a_lost_worker_is_unavailable() -> None:
    lost = "failure on connection marked as essential: 127.0.0.1:5433"
    with pytest.raises(StorageUnavailable, match="essential"), translated_errors():
        raise reported(psycopg.errors.InternalError_, lost)


def test_another_internal_error_passes_unchanged() -> None:
    with pytest.raises(psycopg.errors.InternalError_), translated_errors():
        raise reported(psycopg.errors.InternalError_, "cache lookup failed")


def test_other_unique_violations_pass_unchanged() -> None:
    assert not is_retryable(violation_of("organizations_pkey"))
    with pytest.raises(psycopg.errors.UniqueViolation), translated_errors():
        raise violation_of("organizations_pkey")


@define
class Attempt:
    """Raises these errors one after the other, and then returns 7."""

    errors: list[psycopg.Error]

    def __call__(self) -> int:
        if self.errors:
            raise self.errors.pop(0)
        return 7


def test_a_conflict_is_retried_after_a_pause() -> None:
    pauses: list[float] = []
    assert retry_once(Attempt([error_of("40001")]), pauses.append) == 7
    assert pauses == [0.05]


def test_a_second_conflict_is_raised() -> None:
    attempt = Attempt([error_of("40001"), error_of("40P01"), error_of("40001")])
    with pytest.raises(StorageUnavailable, match="40P01"):
        retry_once(attempt, lambda _: None)
    assert len(attempt.errors) == 1


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        (error_of("57014"), StorageUnavailable),
        (error_of("22001"), InvalidField),
        (error_of("42601"), psycopg.errors.SyntaxError),
    ],
)
def test_other_errors_are_raised_without_a_retry(error, expected):
    pauses: list[float] = []
    with pytest.raises(expected):
        retry_once(Attempt([error]), pauses.append)
    assert pauses == []


def test_a_message_is_one_line_without_libpq_s_hints() -> None:
    said = psycopg.OperationalError("connection failed: \n\tIs the server running?\n  no route ")
    assert one_line(said) == "connection failed: no route"


def test_a_message_that_libpq_repeats_without_tls_is_shown_once() -> None:
    """The servers of the tests have no TLS. This is what libpq says about one of Debian."""
    failed = 'connection to server at "127.0.0.1", port 5432 failed: FATAL:  wrong'
    said = psycopg.OperationalError(f"connection failed: {failed}\n{failed}")

    assert one_line(said) == f"connection failed: {failed}"


def test_a_message_of_the_server_is_its_primary_message() -> None:
    assert one_line(reported(psycopg.errors.DiskFull, "disk full")) == "disk full"
