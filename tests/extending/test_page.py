"""The pages docs/extending.md and docs/storage-contract.md agree with the contracts."""

from __future__ import annotations

import re

from recipient_fields.testing import (
    StorageContract,
    StorageDurabilityContract,
    StorageOutageContract,
    StorageUrlContract,
)

from .conftest import ROOT

PAGE = (ROOT / "docs" / "extending.md").read_text("utf-8")
MISTAKES = (ROOT / "docs" / "storage-contract.md").read_text("utf-8").partition("<!-- written")[0]
CONTRACTS = (
    StorageContract,
    StorageDurabilityContract,
    StorageOutageContract,
    StorageUrlContract,
)


def test_every_case_on_the_page_exists() -> None:
    named = set(re.findall(r"`(test_\w+)`", MISTAKES))
    assert len(named) > 10
    assert [name for name in named if not any(hasattr(each, name) for each in CONTRACTS)] == []


def test_every_number_on_the_page_is_an_attribute_of_the_contract() -> None:
    for name in ("threads", "rounds", "concurrent_calls", "max_wait"):
        assert f"`{name}`" in PAGE
        assert isinstance(getattr(StorageContract, name), int | float)


def test_every_included_part_of_a_file_exists() -> None:
    included = re.findall(
        r"\{literalinclude\} (\S+)\n:language: \w+\n(?::(pyobject|start-at): \"?(.*?)\"?\n)?", PAGE
    )
    assert len(included) > 8
    for path, how, what in included:
        text = (ROOT / "docs" / path).read_text("utf-8")
        name = what.rpartition(".")[2]
        assert (
            re.search(rf"^ *(def|class) {name}\b", text, re.M)
            if how == "pyobject"
            else what in text
        )
