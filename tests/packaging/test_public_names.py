"""The public names of the library change only on purpose."""

from __future__ import annotations

from difflib import unified_diff

from ..docs.test_reference import PACKAGES as DOCUMENTED
from ..docs.test_reference import WHOLE_MODULES
from .public_names import LIST, PACKAGES, public_names


def test_the_public_names_are_those_in_the_list() -> None:
    listed = LIST.read_text("utf-8").splitlines()
    changes = unified_diff(
        listed, public_names().splitlines(), "listed", "public", lineterm="", n=1
    )

    assert list(changes) == [], (
        "Public names, members or signatures have changed. If this is the purpose, follow"
        " docs/versioning.md and run `.venv/bin/python tests/packaging/public_names.py`."
    )


def test_the_list_has_every_documented_package() -> None:
    strategies = "recipient_fields.testing.strategies"  # docs/testing-with-hypothesis.md

    assert {*PACKAGES} == {*DOCUMENTED, *WHOLE_MODULES, strategies}
