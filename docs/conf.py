"""Sphinx configuration. Run `sphinx-build -W --keep-going --fresh-env docs build/docs`."""

from __future__ import annotations

import re
from collections.abc import Iterator
from enum import Enum
from functools import cache
from importlib import import_module
from inspect import isroutine
from pathlib import Path
from pkgutil import walk_packages
from runpy import run_path
from typing import Any, get_origin

import attrs
from docutils import nodes
from sphinx import addnodes
from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment
from sphinx.pycode import ModuleAnalyzer
from sphinx.util import logging
from sphinx.util.nodes import make_refnode

# The names that `library.md` lists.
listed = run_path(str(Path(__file__).parents[1] / "tests/packaging/public_names.py"))["listed"]
PUBLIC = listed(Path(__file__).with_name("library.md").read_text("utf-8"))

project = "Recipient Fields"
project_copyright = "the authors of Recipient Fields"
extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx_copybutton"]
exclude_patterns = ["examples"]

myst_heading_anchors = 3
default_role = "code"  # Docstrings are plain English with `names` in it.
highlight_language = "text"
smartquotes = False

autodoc_default_options = {"member-order": "bysource"}
autodoc_preserve_defaults = True
# Signatures show the aliases of types.
autodoc_type_aliases = {
    each.name: f"{each.package}.{each.name}" for each in PUBLIC if get_origin(each.value)
}
autodoc_typehints_format = "short"
python_maximum_signature_line_length = 160  # Counted with the full names of types
python_use_unqualified_type_names = True

html_theme = "furo"
html_static_path = ["_static"]
html_css_files = ["pages.css"]
html_title = "Recipient Fields"
html_copy_source = False
html_show_sourcelink = False
html_show_sphinx = False
# No page links to the indices, and their long names do not fit on a phone. The search finds them.
html_use_index = False
html_domain_indices = False
toc_object_entries_show_parents = "hide"

_log = logging.getLogger(__name__)
# The form in which autodoc writes an alias inside a type.
_ALIAS = re.compile(r"TypeAliasForwardRef\('([^']+)'\)")
_FILE_NAME = re.compile(r"(?<=\w/)(?=\w+\.\w)")  # The start of the file name in a path.
_ATTRS_DEFAULT = re.compile(r"attr_dict\['(\w+)'\]\.default")


def setup(app: Sphinx) -> None:
    """Connect the customizations of autodoc that have no setting."""
    app.connect("source-read", _describe_names)
    app.connect("autodoc-process-docstring", _own_words)
    app.connect("autodoc-process-signature", _readable_signature)
    app.connect("missing-reference", _by_public_name)
    app.connect("doctree-read", _require_descriptions)
    app.connect("doctree-read", _fit_cells)


def _describe_names(_app: Sphinx, page: str, source: list[str]) -> None:
    """Add the descriptions of the names in each section of the library to its table."""
    if page == "library":
        sections = re.split(r"(?m)^(?=## )", source[0])
        source[0] = "\n".join(section + _descriptions(section) for section in sections)


def _descriptions(section: str) -> str:
    directives = [line for each in listed(section) for line in (*_directive(each), "")]
    return "\n".join(["", "```{eval-rst}", *directives, "```", ""]) if directives else ""


def _directive(named: Any) -> Iterator[str]:
    value, name = named.value, f"{named.package}.{named.name}"
    if isinstance(value, type):
        yield f".. auto{'exception' if issubclass(value, Exception) else 'class'}:: {name}"
        yield "   :members:"
        if issubclass(value, Enum):
            yield "   :undoc-members:"
    elif isroutine(value):
        yield f".. autofunction:: {name}"
    else:
        yield f".. autodata:: {name}"
        if not get_origin(value):  # An alias of a type
            yield "   :no-value:"


def _own_words(
    _app: Sphinx, what: str, name: str, _described: object, _options: object, lines: list[str]
) -> None:
    """Describe a constant by the docstring below it, not by the class of its value."""
    if what == "data":
        package, _, constant = name.rpartition(".")
        lines[:] = _attribute_docs(package).get(constant, [])


def _readable_signature(
    _app: Sphinx,
    _what: str,
    _name: str,
    described: Any,
    _options: object,
    signature: str | None,
    returned: str | None,
) -> tuple[str, str | None] | None:
    """Show defaults as in the source, and no signature for classes without a public constructor."""
    if signature is None:
        return None
    signature = _ALIAS.sub(r"~\1", signature)
    returned = returned and _ALIAS.sub(r"~\1", returned)
    if not isinstance(described, type):
        return signature, returned
    members = attrs.fields_dict(described) if attrs.has(described) else {}
    if (
        issubclass(described, Enum)
        or getattr(described, "_is_protocol", False)
        or any(name.startswith("_") for name in members)
    ):
        return "", None
    written = _ATTRS_DEFAULT.sub(lambda match: _written(members[match[1]].default), signature)
    return written.replace("= NOTHING", "= ..."), returned


def _by_public_name(
    app: Sphinx, env: BuildEnvironment, node: addnodes.pending_xref, shown: nodes.TextElement
) -> nodes.reference | None:
    """Resolve a reference to a type by its public name in the package."""
    objects = env.domains.python_domain.objects
    module, _, name = (node.get("reftarget") or "").rpartition(".")
    while module.startswith("recipient_fields."):
        module = module.rpartition(".")[0]
        found = objects.get(f"{module}.{name}")
        if found is not None:
            return make_refnode(app.builder, node["refdoc"], found.docname, found.node_id, shown)
    return None


def _require_descriptions(_app: Sphinx, doctree: nodes.document) -> None:
    """Log a warning for each name without a description, except attributes."""
    for described in doctree.findall(addnodes.desc):
        if described["objtype"] != "attribute" and not described[-1].children:
            _log.warning("%s is not described", described[0]["fullname"], location=described)


def _fit_cells(_app: Sphinx, doctree: nodes.document) -> None:
    """Mark table cells that contain sentences, and let paths break before the file name."""
    for cell in doctree.findall(nodes.entry):
        if len(cell.astext().split()) >= 5:
            cell["classes"].append("sentence")
        for code in [*cell.findall(nodes.literal)]:
            folder, *names = _FILE_NAME.split(code.astext())
            code.clear()
            code += nodes.Text(folder)
            for name in names:
                code += [nodes.raw("", "<wbr>", format="html"), nodes.Text(name)]


@cache
def _attribute_docs(package: str) -> dict[str, list[str]]:
    """Return the docstrings below the constants of a package."""
    # The domain defines the constants of `recipient_fields`.
    folder = "recipient_fields.domain" if package == "recipient_fields" else package
    inside = import_module(folder)
    files = [file.name for file in walk_packages(getattr(inside, "__path__", ()), f"{folder}.")]
    return {
        constant: lines
        for module in (package, *files)
        for (_, constant), lines in ModuleAnalyzer.for_module(module).find_attr_docs().items()
    }


def _written(default: object) -> str:
    """Return the public name of a default, or its `repr` if it has none."""
    if type(default) in {bool, int, str}:
        return repr(default)
    names = (each.name for each in PUBLIC if each.value is default)
    return next(names, repr(default))
