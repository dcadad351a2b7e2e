"""Instants: parsing, formatting, and truncation to whole milliseconds in UTC."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta, timezone, tzinfo

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from recipient_fields.domain import (
    MILLISECOND,
    Organization,
    OrganizationId,
    epoch_milliseconds,
    format_instant,
    from_epoch_milliseconds,
    parse_date,
    parse_instant,
    whole_milliseconds,
)

OFFSETS = st.integers(-1439, 1439).map(lambda minutes: timezone(timedelta(minutes=minutes)))
INSTANTS = st.datetimes(timezones=OFFSETS).filter(lambda at: 1 < at.year < 9999)


class ZoneWithoutOffset(tzinfo):
    def utcoffset(self, at: datetime | None) -> None:
        return None

    dst = tzname = utcoffset


@given(INSTANTS)
def test_an_instant_survives_formatting_and_parsing(at):
    read = parse_instant(format_instant(at))
    assert read == whole_milliseconds(at)
    assert read.tzinfo is UTC


@given(INSTANTS)
@example(datetime(2026, 11, 20, 9, 15, 0, 1, tzinfo=UTC))
@example(datetime(2026, 11, 20, 9, 15, 0, 1_001, tzinfo=UTC))
@example(datetime(2026, 11, 20, 9, 15, 0, 123_999, tzinfo=UTC))
def test_an_instant_is_truncated_to_milliseconds_not_rounded(at):
    cut = whole_milliseconds(at)
    assert timedelta() <= at - cut < MILLISECOND
    assert (cut.tzinfo, cut.microsecond % 1000) == (UTC, 0)


@given(INSTANTS)
def test_truncating_is_idempotent(at):
    assert whole_milliseconds(whole_milliseconds(at)) == whole_milliseconds(at)


@given(INSTANTS)
def test_the_milliseconds_since_1970_are_exact(at):
    since = timedelta(milliseconds=epoch_milliseconds(at))
    assert datetime(1970, 1, 1, tzinfo=UTC) + since == whole_milliseconds(at)
    assert from_epoch_milliseconds(epoch_milliseconds(at)) == whole_milliseconds(at)


@pytest.mark.parametrize("function", [whole_milliseconds, format_instant])
@pytest.mark.parametrize(
    "zone", [None, ZoneWithoutOffset()], ids=["no zone", "a zone without an offset"]
)
def test_a_naive_datetime_is_rejected(function, zone):
    with pytest.raises(ValueError, match="needs a time zone"):
        function(datetime(2026, 11, 20, tzinfo=zone))


def test_an_instant_with_any_offset_is_formatted_in_utc():
    at = datetime(2026, 11, 20, 1, 15, 0, 123999, tzinfo=timezone(timedelta(hours=-8)))
    assert format_instant(at) == "2026-11-20T09:15:00.123Z"


def test_an_early_year_is_formatted_with_four_digits():
    assert format_instant(datetime(1, 1, 1, tzinfo=UTC)) == "0001-01-01T00:00:00.000Z"


@pytest.mark.parametrize("text", ["", "now", "2026-11-20", "2026-11-20T09:15:00", "1e9", "\0"])
def test_a_text_that_is_not_an_instant_is_rejected(text):
    with pytest.raises(ValueError, match="RFC 3339"):
        parse_instant(text)


@given(st.dates())
def test_a_date_survives_formatting_and_parsing(day):
    assert parse_date(day.isoformat()) == day


def test_a_date_is_parsed():
    assert parse_date("2026-11-20") == date(2026, 11, 20)


def test_the_domain_stores_times_in_utc_and_whole_milliseconds():
    at = datetime(2026, 11, 20, 10, 0, 0, 1999, tzinfo=timezone(timedelta(hours=1)))
    stored = Organization(id=OrganizationId(1), name="Acme", created_at=at).created_at
    assert (stored.isoformat(), stored.tzinfo) == ("2026-11-20T09:00:00.001000+00:00", UTC)
