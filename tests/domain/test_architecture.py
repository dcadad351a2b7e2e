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
from recipient_fields.domain.esp import conditions as esp_conditions
from recipient_fields.domain.esp import content as esp_content

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
LANGUAGES = (esp_conditions, esp_content)
"""The implementations for ESPs, of which `domain.esp` exports the functions."""
FOR_THE_PROJECT = {
    # Parts that other rooms of the domain share.
    "domain.choices",
    *(f"domain.content.{each}" for each in ("html", "resolution")),
    "domain.spans",
    # Event data, which is no field. References have its paths as their keys.
    *("domain.data_paths", "domain.content.event_data", "domain.esp.data_codes"),
    # The use cases of names. Other layers import them from their modules.
    "domain.integrations.selection",
    *(f"domain.esp.{each}" for each in ("name_warnings", "preludes")),
    # The parts of a profile. A person who writes one imports them from their modules.
    *("domain.esp.profiles.profile", "domain.esp.languages.conditions.code_parts"),
    "domain.esp.languages.conditions.formulas",
    # What the check of content for foreign code shares with the recognition of tags.
    *(f"domain.esp.recognition.{each}" for each in ("judging", "tags", "words")),
    # The trees that the languages of ESPs are read into, and what each ESP adds to its language.
    *(f"domain.esp.languages.{each}" for each in ("blocks", "expressions", "liquid", "tree")),
    # The parts of a conversion, and of the uses of fields. Their results are exported elsewhere.
    *(
        f"domain.esp.conversion.{each}"
        for each in ("conditions", "outcomes", "reader", "source_fields", "statements", "values")
    ),
    *("domain.esp.recognition.uses", "domain.integrations.text_checks"),
    *("application.content.conversions", "application.esp.snapshots"),
    # The schemas and the inputs of documents.
    "application.documents.schemas",
    # The use cases of plans and lists, and their port. Entrypoints import them from their modules.
    "application.fields.plans",
    "application.ports.recipients",
    "application.recipients.hints",
    "application.recipients.inference",
    "application.recipients.lists",
}
"""The modules with public classes that the packages do not export."""
CORE = pytest.mark.parametrize("package", MAY_IMPORT, ids=lambda package: package.__name__)


def sources(package: ModuleType) -> list[Path]:
    """Return the files of the package and its rooms, without those of the packages inside it."""
    (folder,) = map(Path, package.__path__)
    inside = [
        Path(other.__path__[0]) for other in (*MAY_IMPORT, *LANGUAGES) if other is not package
    ]
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


def test_every_public_class_is_exported_or_in_a_module_for_the_project():
    """The classes of documents are shapes of JSON, which the pages about it describe."""
    unexported = {
        module.__name__.removeprefix("recipient_fields.")
        for package in MAY_IMPORT
        for module in modules(package)
        for name, value in inspect.getmembers(module, inspect.isclass)
        if value.__module__ == module.__name__ and name not in package.__all__
        if not name.startswith("_") and not name.endswith("Document")
    }
    assert unexported == FOR_THE_PROJECT
