"""Parts of a text."""

from __future__ import annotations

import pytest

from recipient_fields.domain.spans import Spans


@pytest.mark.parametrize("offset", [2, 3, 6])
def test_contain_the_offsets_from_each_start_to_before_each_end(offset):
    assert Spans([(2, 4), (6, 7)]).contain(offset)


@pytest.mark.parametrize("offset", [0, 1, 4, 5, 7])
def test_contain_no_other_offsets(offset):
    assert not Spans([(2, 4), (6, 7)]).contain(offset)


def test_an_empty_part_contains_nothing():
    assert not Spans([(2, 2)]).contain(2)


def test_without_parts_nothing_is_contained():
    assert not Spans([]).contain(0)
