"""The console parses inputs, calls use cases and renders. It calls no function of the domain."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from importlib import import_module
from types import FunctionType

from ..packaging.distributions import ROOT

PARSERS = {
    *("date_literal", "normalize_nfc", "parse_date", "parse_instant", "read_content", "to_line"),
    *("format_condition", "format_instant"),
}
"""Functions between a value and its text."""


def called_functions(source: str) -> Iterator[str]:
    """Yield the names of the domain's functions that the source imports, and no parser."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.ImportFrom) and f"{node.module}.".startswith(
            "recipient_fields.domain."
        ):
            module = import_module(str(node.module))
            for name in (alias.name for alias in node.names):
                if isinstance(getattr(module, name), FunctionType) and name not in PARSERS:
                    yield name


def test_a_function_of_the_domain_is_found() -> None:
    source = """
from recipient_fields.domain import FieldDraft, FieldId, MAX_ALLOWED_VALUES, decide, parse_instant
from recipient_fields.domain.esp.derived_codes import has_safe_form
from recipient_fields.application import Core
"""

    assert list(called_functions(source)) == ["decide", "has_safe_form"]


def test_the_console_calls_no_function_of_the_domain() -> None:
    found = {
        str(path.relative_to(ROOT)): names
        for path in (ROOT / "entrypoints/console").rglob("*.py")
        if (names := list(called_functions(path.read_text("utf-8"))))
    }

    assert found == {}
