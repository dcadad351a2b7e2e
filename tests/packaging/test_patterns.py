"""Possessive quantifiers on groups are found in compiled patterns."""

from __future__ import annotations

import re
import subprocess
import sys

import pytest

from .distributions import ROOT
from .patterns import has_possessive_group


@pytest.mark.parametrize(
    "pattern",
    [r"(?:a|b)*+", r"(a)++c", r"(?:\(|\))?+", r"(a){2,4}+", r"([)]){0,3}+", r"[^]a](b)*+"],
)
def test_a_possessive_quantifier_on_a_group_is_found(pattern):
    assert has_possessive_group(re.compile(pattern))
    assert has_possessive_group(re.compile(pattern.encode()))
    assert has_possessive_group(re.compile(f"{pattern} # end", re.VERBOSE))


@pytest.mark.parametrize(
    "pattern", [r"a*+[)]*+\)++", r"(?>(?:a|b)*)+", r"(a)* \+", r"(?:a)+b", r"[](]a++", r"[\])*+]"]
)
def test_other_quantifiers_are_not_found(pattern):
    assert not has_possessive_group(re.compile(pattern))


def test_the_product_has_none() -> None:
    program = ROOT / "tests" / "packaging" / "patterns.py"
    ran = subprocess.run([sys.executable, program], capture_output=True, text=True, check=False)
    assert (ran.returncode, ran.stderr) == (0, "")
