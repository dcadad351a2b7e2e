"""Times and durations on the pages."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from recipient_fields.entrypoints.console.pages import format_ago, format_until

NOW = datetime(2026, 11, 22, 10, 40, tzinfo=UTC)


@pytest.mark.parametrize(
    ("passed", "expected"),
    [
        (timedelta(seconds=-5), "Just now"),
        (timedelta(milliseconds=999), "Just now"),
        (timedelta(seconds=1), "1 second ago"),
        (timedelta(seconds=12), "12 seconds ago"),
        (timedelta(minutes=3), "3 minutes ago"),
        (timedelta(minutes=59, seconds=10), "59 minutes ago"),
        (timedelta(hours=2), "2 hours ago"),
        (timedelta(hours=11, minutes=25), "Yesterday, 23:15"),
        (timedelta(days=1), "Yesterday, 10:40"),
        (timedelta(days=2), "20 Nov 2026"),
        (timedelta(days=400), "18 Oct 2025"),
    ],
)
def test_a_past_time_is_relative_for_two_days(passed, expected):
    assert format_ago(NOW - passed, NOW) == expected


def test_shortly_after_midnight_a_time_is_relative() -> None:
    midnight = datetime(2026, 11, 22, tzinfo=UTC)

    assert format_ago(midnight - timedelta(minutes=5), midnight) == "5 minutes ago"
    assert format_ago(midnight - timedelta(hours=1), midnight) == "Yesterday, 23:00"


@pytest.mark.parametrize(
    ("left", "expected"),
    [
        (timedelta(days=90), "in 90 days"),
        (timedelta(days=89, hours=23), "in 90 days"),
        (timedelta(hours=24), "in 1 day"),
        (timedelta(hours=5, minutes=20), "in 5 hours"),
        (timedelta(minutes=59, seconds=59), "in 1 hour"),
        (timedelta(minutes=20), "in 20 minutes"),
        (timedelta(seconds=30), "in 30 seconds"),
    ],
)
def test_a_future_time_is_relative(left, expected):
    assert format_until(NOW + left, NOW) == expected
