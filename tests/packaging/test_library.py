"""The names of `recipient_fields` itself."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from importlib import import_module

import pytest

import recipient_fields

from .distributions import ROOT

SOURCE = ROOT / "entrypoints/library/__init__.py"


def loaded(statement: str) -> set[str]:
    """Return the modules that a new process imports, without those of the standard library."""
    program = f"import sys; old = {{*sys.modules}}; {statement}; print(*sys.modules.keys() - old)"
    run = subprocess.run(
        (sys.executable, "-c", program), capture_output=True, text=True, check=True
    )
    return {
        name for name in run.stdout.split() if name.partition(".")[0] not in sys.stdlib_module_names
    }


def of_type_checkers() -> dict[str, str]:
    """Return the names that type checkers find, with their modules."""
    block = next(n for n in ast.parse(SOURCE.read_text("utf-8")).body if isinstance(n, ast.If))
    return {
        alias.name: f"recipient_fields.{node.module}"
        for node in block.body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }


def test_importing_it_loads_no_other_module() -> None:
    assert loaded("import recipient_fields") == {"recipient_fields"}


@pytest.mark.parametrize(
    "names",
    ["DataType", "Esp, parse_content", "check_content, export_content, preview_content"],
)
def test_a_name_of_the_domain_loads_only_the_domain(names):
    packages = {
        ".".join(name.split(".")[:2]) for name in loaded(f"from recipient_fields import {names}")
    }

    assert {name for name in packages if not re.match("attrs?", name)} == {
        "recipient_fields",
        "recipient_fields.domain",
    }


def test_type_checkers_find_the_same_names() -> None:
    assert {*of_type_checkers(), "__version__"} == {*recipient_fields.__all__}
    assert dir(recipient_fields) == sorted(recipient_fields.__all__)


@pytest.mark.parametrize(("name", "module"), of_type_checkers().items())
def test_a_name_is_the_same_in_its_package(name, module):
    assert getattr(recipient_fields, name) is getattr(import_module(module), name)


def test_an_unknown_name_is_reported() -> None:
    with pytest.raises(AttributeError, match=r"'recipient_fields' has no attribute 'Field'"):
        _ = recipient_fields.Field  # type: ignore[attr-defined]
