"""Parts of a text."""

from __future__ import annotations

import pytest

from recipient_fields.domain.spans import Spans


@pytest.mark.parametrize(
    ("parts", "contained"), [([(2, 4), (6, 7)], {2, 3, 6}), ([(2, 2)], set()), ([], set())]
)
def test_contain_the_offsets_from_each_start_to_before_each_end(parts, contained):
    spans = Spans(parts)
    assert {offset for offset in range(8) if spans.contain(offset)} == contained
