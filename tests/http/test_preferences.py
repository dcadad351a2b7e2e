"""The header `Prefer` (RFC 7240)."""

from __future__ import annotations

import pytest
from falcon.testing import create_req

from recipient_fields.entrypoints.http.requests import prefers_minimal

from ..support.growth import assert_grows_linearly


@pytest.mark.parametrize(
    ("header", "expected"),
    [
        ("return=minimal", True),
        ('RETURN="minimal"', True),
        ("respond-async, return=minimal; foo=bar", True),
        ('foo="a,return=representation", return=minimal', True),
        ("return=minimal, return=representation", True),
        ('Return="minimal"; a; b = "c\\"d" , wait=5', True),
        ("respond-async, return = minimal", True),
        ("return=representation, return=minimal", False),
        ("return", False),
        ("return=minimal garbage", False),
        ("return=Minimal", False),
        ("minimal", False),
        ('foo="return=minimal"', False),
        ("foo; return=minimal", False),
        ("=return=minimal", False),
        ("", False),
    ],
)
def test_the_first_preference_return_applies(header, expected):
    assert prefers_minimal(create_req(headers={"Prefer": header})) is expected


@pytest.mark.parametrize("part", [";b  ", ';b = "c"', "; ", "a, ", '"\\"'])
def test_a_hostile_header_takes_linear_time(part):
    assert_grows_linearly(
        lambda header: prefers_minimal(create_req(headers={"Prefer": header})),
        lambda size: f'a{part * size}"',
        20_000,
    )
