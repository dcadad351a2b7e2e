"""The imports and the exports of the core."""

from __future__ import annotations

import ast
import inspect
import sys
from importlib import import_module
from pathlib import Path
from types import ModuleType

import pytest

from recipient_fields import application, domain
from recipient_fields.domain import conditions, esp

MAY_IMPORT = {
    domain: {"attrs"},
    conditions: {"attrs"},
    esp: {"attrs"},
    application: {
        *("attrs", "cattrs", "cattrs.cols", "cattrs.gen"),
        *("recipient_fields.domain", "recipient_fields.domain.conditions"),
        *("recipient_fields.domain.content", "recipient_fields.domain.esp"),
    },
}
CORE = pytest.mark.parametrize("package", MAY_IMPORT, ids=lambda package: package.__name__)


def sources(package: ModuleType) -> list[Path]:
    return sorted(path for folder in package.__path__ for path in Path(folder).glob("*.py"))


def imported(source: Path) -> set[str]:
    """Return the packages that a file imports. Relative imports begin with a dot."""
    names = set()
    for node in ast.walk(ast.parse(source.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        if isinstance(node, ast.ImportFrom):
            names.add("." * node.level + (node.module or ""))
    return names


WIRE_FORMS = ("documents", "schemas")


@CORE
def test_the_core_imports_only_the_standard_library_attrs_and_inner_layers(package):
    further_out = "." * (package.__name__.count(".") + 1)
    outside = {
        name
        for source in sources(package)
        for name in imported(source)
        if not name.startswith(".") or name.startswith(further_out)
        if name.partition(".")[0] not in sys.stdlib_module_names
    }
    assert {name.removesuffix(".converters") for name in outside} <= MAY_IMPORT[package]


@CORE
def test_every_file_of_the_core_is_checked(package):
    assert {"__init__.py"} < {source.name for source in sources(package)}


@CORE
def test_every_name_of_a_package_is_exported_once(package):
    bound = {
        name
        for name, value in vars(package).items()
        if not name.startswith("_") and not isinstance(value, ModuleType)
    }
    assert set(package.__all__) == bound
    assert len(package.__all__) == len(bound)


@CORE
def test_every_public_class_is_exported(package):
    """Except wire forms, which entrypoints import from their modules."""
    stems = [path.stem for path in sources(package) if not path.stem.endswith(WIRE_FORMS)]
    modules = [import_module(f"{package.__name__}.{stem}") for stem in stems]
    public = {
        name
        for module in modules
        for name, value in inspect.getmembers(module, inspect.isclass)
        if value.__module__ == module.__name__ and not name.startswith("_")
    }
    assert public <= set(package.__all__)
