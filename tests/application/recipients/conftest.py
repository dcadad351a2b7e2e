"""Checks of lists against the fields of an organization."""

from __future__ import annotations

import pytest

from ...support.recipient_lists import Lists


@pytest.fixture
def lists() -> Lists:
    lists = Lists()
    lists.add_fields()
    return lists
