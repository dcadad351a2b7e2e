"""Which error of PostgreSQL becomes which of ours (SQLSTATE decides)."""

from __future__ import annotations

import psycopg
import pytest
from attrs import define
from psycopg.pq import DiagnosticField
from psycopg_pool import PoolClosed, PoolTimeout

from recipient_fields.adapters.postgres import errors
from recipient_fields.adapters.postgres.connection import ResponseTimeout
from recipient_fields.adapters.postgres.errors import (
    is_retryable,
    one_line,
    retry_once,
    translated_errors,
)
from recipient_fields.domain import InvalidField, Rule, StorageUnavailable

from ...sentences import are_sentences

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
def test_what_the_server_can_not_do_now_is_unavailable(sqlstate: str) -> None:
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
def test_a_lost_connection_is_unavailable(error: psycopg.Error) -> None:
    told = f"PostgreSQL: {error}"
    with pytest.raises(StorageUnavailable, match=told) as raised, translated_errors():
        raise error
    assert raised.value.__cause__ is error


@pytest.mark.parametrize(("sqlstate", "rule"), REFUSED.items())
def test_a_value_that_can_not_be_stored_is_invalid_and_not_repeated(
    sqlstate: str, rule: Rule
) -> None:
    with pytest.raises(InvalidField) as raised, translated_errors():
        raise error_of(sqlstate)
    [violation] = raised.value.violations
    assert violation.rule is rule
    assert "words" not in violation.message
    assert are_sentences(violation.message)


@pytest.mark.parametrize("sqlstate", sorted(KNOWN - OUTAGES - set(REFUSED)))
def test_everything_else_is_a_defect_and_stays_what_it_is(sqlstate: str) -> None:
    error = error_of(sqlstate)
    with pytest.raises(type(error)) as raised, translated_errors():
        raise error
    assert raised.value is error


@pytest.mark.parametrize(
    "error", [psycopg.ProgrammingError("bad placeholder"), psycopg.InterfaceError("closed cursor")]
)
def test_misusing_the_driver_is_a_defect(error: psycopg.Error) -> None:
    with pytest.raises(type(error)), translated_errors():
        raise error


def test_a_text_that_psycopg_rejects_is_invalid() -> None:
    with pytest.raises(InvalidField) as raised, translated_errors():
        raise psycopg.DataError("PostgreSQL text fields cannot contain NUL (0x00) bytes")
    assert [each.rule for each in raised.value.violations] == [Rule.INVALID_CHARACTERS]


def violation_of(constraint: str) -> psycopg.Error:
    told = {DiagnosticField.CONSTRAINT_NAME: constraint.encode()}
    return psycopg.errors.UniqueViolation("the server's words", info=told)


def test_what_met_another_transaction_or_a_reset_may_pass_when_it_is_tried_again() -> None:
    again = {sqlstate for sqlstate in KNOWN if is_retryable(error_of(sqlstate))}
    assert again == {"26000", "40001", "40P01"}


def test_a_key_that_two_transactions_take_at_once_may_be_told_when_it_is_tried_again() -> None:
    assert is_retryable(violation_of(KEY_ONCE))
    with pytest.raises(StorageUnavailable, match="23505"), translated_errors():
        raise violation_of(KEY_ONCE)


def test_anything_else_that_exists_twice_is_a_defect() -> None:
    assert not is_retryable(violation_of("organizations_pkey"))
    with pytest.raises(psycopg.errors.UniqueViolation), translated_errors():
        raise violation_of("organizations_pkey")


@define
class Attempt:
    """Raises these errors one after the other, and then gives 7."""

    errors: list[psycopg.Error]

    def __call__(self) -> int:
        if self.errors:
            raise self.errors.pop(0)
        return 7


@pytest.fixture
def pauses(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The seconds of each pause, which are not waited for."""
    made: list[float] = []
    monkeypatch.setattr(errors, "sleep", made.append)
    return made


def test_what_met_another_transaction_is_tried_once_more_a_moment_later(
    pauses: list[float],
) -> None:
    assert retry_once(Attempt([error_of("40001")])) == 7
    assert pauses == [0.05]


@pytest.mark.usefixtures("pauses")
def test_what_meets_another_transaction_twice_is_told() -> None:
    attempt = Attempt([error_of("40001"), error_of("40P01"), error_of("40001")])
    with pytest.raises(StorageUnavailable, match="40P01"):
        retry_once(attempt)
    assert len(attempt.errors) == 1


@pytest.mark.parametrize(
    ("error", "told"),
    [
        (error_of("57014"), StorageUnavailable),
        (error_of("22001"), InvalidField),
        (error_of("42601"), psycopg.errors.SyntaxError),
    ],
)
def test_what_another_try_would_not_mend_is_told_at_once(
    error: psycopg.Error, told: type[Exception], pauses: list[float]
) -> None:
    with pytest.raises(told):
        retry_once(Attempt([error]))
    assert pauses == []


def test_what_the_server_says_is_told_on_one_line_without_libpq_s_hints() -> None:
    said = psycopg.OperationalError("connection failed: \n\tIs the server running?\n  no route ")
    assert one_line(said) == "connection failed: no route"


def test_the_server_s_primary_message_is_told_alone() -> None:
    told = {DiagnosticField.MESSAGE_PRIMARY: b"disk full"}
    error = psycopg.errors.DiskFull("disk full\nHINT: buy another", info=told)
    assert one_line(error) == "disk full"
