"""The options in a storage URL."""

from __future__ import annotations

import pytest

from recipient_fields.adapters.url_options import boolean, integer, take_options
from recipient_fields.domain import InvalidStorageUrl

KNOWN = ("pool_size", "prepare")


def test_options_are_returned_by_name() -> None:
    assert take_options("pool_size=8&prepare=a=b", KNOWN) == {"pool_size": "8", "prepare": "a=b"}


def test_an_empty_query_has_no_options() -> None:
    assert take_options("", KNOWN) == {}


@pytest.mark.parametrize(
    ("query", "message"),
    [
        ("secret=8", "Unknown option in the storage URL: use only `pool_size`, `prepare`."),
        ("secret", "Unknown option in the storage URL: use only `pool_size`, `prepare`."),
        ("prepare=true&", "Unknown option in the storage URL: use only `pool_size`, `prepare`."),
        ("PREPARE=true", "Unknown option in the storage URL: use only `pool_size`, `prepare`."),
        ("prepare", "Option `prepare` of the storage URL: add `=` and a value."),
        ("prepare=1&prepare=1", "Option `prepare` of the storage URL: set it only once."),
    ],
)
def test_a_wrong_query_is_rejected(query, message):
    with pytest.raises(InvalidStorageUrl) as rejected:
        take_options(query, KNOWN)
    assert str(rejected.value) == message


def test_a_boolean_is_true_or_false() -> None:
    assert boolean("prepare", "true") is True
    assert boolean("prepare", "false") is False


@pytest.mark.parametrize("value", ["", "True", "1", "yes", " true", "secret"])
def test_any_other_boolean_is_rejected(value):
    with pytest.raises(InvalidStorageUrl) as rejected:
        boolean("prepare", value)
    assert str(rejected.value) == (
        "Invalid value for option `prepare` of the storage URL: use `true` or `false`,"
        " for example `?prepare=false`."
    )


@pytest.mark.parametrize(("value", "number"), [("1", 1), ("08", 8), ("64", 64)])
def test_an_integer_is_within_its_range(value, number):
    assert integer("pool_size", value, 1, 64) == number


@pytest.mark.parametrize("value", ["", "0", "65", "+1", "-1", "1.0", "1_0", "٤", "²", "9" * 5_000])
def test_any_other_integer_is_rejected(value):
    with pytest.raises(InvalidStorageUrl) as rejected:
        integer("pool_size", value, 1, 64)
    assert str(rejected.value) == (
        "Invalid value for option `pool_size` of the storage URL: use a whole number from 1 to 64,"
        " for example `?pool_size=64`."
    )
