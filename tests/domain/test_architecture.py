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
from recipient_fields.domain import conditions, content, esp, integrations

MAY_IMPORT = {
    domain: {"attrs"},
    conditions: {"attrs"},
    content: {"attrs"},
    esp: {"attrs"},
    integrations: {"attrs"},
    application: {
        *("attrs", "cattrs", "cattrs.cols", "cattrs.gen"),
        *("recipient_fields.domain", "recipient_fields.domain.conditions"),
        *("recipient_fields.domain.content", "recipient_fields.domain.esp"),
        "recipient_fields.domain.integrations",
        *("recipient_fields.domain.arguments", "recipient_fields.domain.lazy_names"),
        *("recipient_fields.domain.conditions.tree", "recipient_fields.domain.content.tree"),
        *(
            f"recipient_fields.domain.integrations.{each}"
            for each in ("integration", "matching", "selection", "setting")
        ),
    },
}
CORE = pytest.mark.parametrize("package", MAY_IMPORT, ids=lambda package: package.__name__)


def sources(package: ModuleType) -> list[Path]:
    """Return the files of the package and its rooms, without those of the packages inside it."""
    (folder,) = map(Path, package.__path__)
    inside = [Path(other.__path__[0]) for other in MAY_IMPORT if other is not package]
    return sorted(
        path
        for path in folder.rglob("*.py")
        if not any(path.is_relative_to(each) and each.is_relative_to(folder) for each in inside)
    )


def imported(source: Path) -> set[str]:
    """Return the packages that a file imports. Relative imports begin with a dot."""
    names = set()
    for node in ast.walk(ast.parse(source.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        if isinstance(node, ast.ImportFrom):
            names.add("." * node.level + (node.module or ""))
    return names


def modules(package: ModuleType) -> list[ModuleType]:
    (folder,) = package.__path__
    return [
        import_module(".".join((package.__name__, *path.relative_to(folder).with_suffix("").parts)))
        for path in sources(package)
        if path.stem != "__init__"
    ]


@CORE
def test_the_core_imports_only_the_standard_library_attrs_and_inner_layers(package):
    layers = Path(domain.__path__[0]).parent
    outside = {
        name
        for source in sources(package)
        for name in imported(source)
        if not name.startswith(".") or name.startswith("." * len(source.relative_to(layers).parts))
        if name.partition(".")[0] not in sys.stdlib_module_names
    }
    assert {name.removesuffix(".converters") for name in outside} <= MAY_IMPORT[package]


@CORE
def test_every_file_of_the_core_is_checked(package):
    assert {"__init__.py"} < {source.name for source in sources(package)}


@CORE
def test_every_name_of_a_package_is_exported_once(package):
    assert len(package.__all__) == len({*package.__all__})
    assert all(hasattr(package, name) for name in package.__all__)
    assert dir(package) == sorted(package.__all__)
    with pytest.raises(AttributeError, match="has no attribute 'Missing'"):
        _ = package.Missing


@CORE
def test_type_checkers_find_the_names_of_the_same_modules(package):
    """They read the imports, and Python the arguments of `lazy_names`."""
    tree = ast.parse(inspect.getsource(package))
    stars = [
        node.module
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and node.names[0].name == "*"
    ]
    (call,) = (node for node in ast.walk(tree) if isinstance(node, ast.Call))
    modules = [str(each.value) for each in call.args if isinstance(each, ast.Constant)]
    assert sorted(modules) == stars


@CORE
def test_every_name_of_a_public_module_is_exported(package):
    for module in modules(package):
        assert {*getattr(module, "__all__", ())} <= {*package.__all__}
