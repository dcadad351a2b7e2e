"""Mutants of code that mutmut skips: tables, class bodies, `__new__` and decorated functions.

mutmut mutates only the bodies of plain functions and methods. This module applies its operators to
the rest of a file, and two operators for tables: remove a row, and swap two values.
"""

from __future__ import annotations

import signal
import sys
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, SourceFileLoader
from importlib.util import spec_from_file_location
from pathlib import Path
from types import CodeType, ModuleType
from typing import TypeGuard

import libcst as cst
import pytest
from attrs import frozen
from forks import status_of
from libcst.metadata import ByteSpanPositionProvider, MetadataWrapper, PositionProvider
from mutmut.mutation.mutators import mutation_operators

MAX_SECONDS = 300
"""Seconds until the first test after which a mutant counts as detected, for example if an import
does not end."""

_NOT_MUTATED = (cst.Annotation, cst.Decorator, cst.Import, cst.ImportFrom, cst.Param)
_NAMES_OF_NO_EFFECT = {"__all__", "__slots__", "_audit", "_log"}
_TYPES = {"Final", "NewType", "TypeAlias", "TypeVar"}


@frozen
class Mutant:
    """A file with one change."""

    path: Path
    line: int
    before: str
    after: str
    code: str


@frozen
class Trial:
    """A mutant, and sets of tests that should detect it: each runs if the previous ones pass."""

    mutant: Mutant
    tests: tuple[Sequence[str], ...]


def mutants(path: Path) -> Iterator[Mutant]:
    """Yield the mutants of the file that mutmut does not create, in the order of the file."""
    code = path.read_text(encoding="utf-8")
    wrapper = MetadataWrapper(cst.parse_module(code), unsafe_skip_copy=True)
    finder = _Finder()
    wrapper.visit(finder)
    text = code.encode()
    for node, changed in finder.found:
        span = wrapper.resolve(ByteSpanPositionProvider)[node]
        line = wrapper.resolve(PositionProvider)[node].start.line
        before, after = (wrapper.module.code_for_node(each) for each in (node, changed))
        mutated = text[: span.start] + after.encode() + text[span.start + span.length :]
        yield Mutant(path, line, before, after, mutated.decode())


def tried(trials: Iterable[Trial], *, workers: int) -> Iterator[tuple[Mutant, bool]]:
    """Test each mutant in its own process; yield it, and whether all its tests pass."""
    with ThreadPoolExecutor(workers) as pool:  # A thread waits for each process.
        yield from pool.map(_try, trials)


class _Finder(cst.CSTVisitor):
    METADATA_DEPENDENCIES = (PositionProvider,)

    def __init__(self) -> None:
        super().__init__()
        self.found: list[tuple[cst.CSTNode, cst.CSTNode]] = []

    def on_visit(self, node: cst.CSTNode) -> bool:
        if isinstance(node, _NOT_MUTATED) or _has_no_effect(node):
            return False
        if isinstance(node, cst.FunctionDef) and _is_mutated_by_mutmut(node):
            return False
        if isinstance(node, cst.ClassDef):
            node.body.visit(self)
            return False
        for kind, operator in mutation_operators:
            if isinstance(node, kind):
                self.found += [(node, changed) for changed in operator(node)]
        self.found += [(node, changed) for changed in _of_a_table(node)]
        return True


def _is_mutated_by_mutmut(function: cst.FunctionDef) -> bool:
    names = [each.decorator.value for each in function.decorators if _is_name(each.decorator)]
    plain = not function.decorators or names in (["classmethod"], ["staticmethod"])
    return plain and function.name.value != "__new__"


def _has_no_effect(node: cst.CSTNode) -> bool:
    """Return whether a change of the node has no effect, as in a docstring or a type alias."""
    match node:
        case cst.Expr(value=cst.SimpleString()):
            return True
        case cst.If(test=cst.Name("TYPE_CHECKING")):
            return True
        case cst.AnnAssign(annotation=cst.Annotation(annotation=cst.Name(name))):
            return name in _TYPES
        case cst.Assign(value=cst.Call(func=cst.Name(name))) if name in _TYPES:
            return True
        case cst.Assign(targets=[cst.AssignTarget(target=cst.Name(name))]):
            return name in _NAMES_OF_NO_EFFECT
    return False


def _is_name(node: cst.CSTNode) -> TypeGuard[cst.Name]:
    return isinstance(node, cst.Name)


def _of_a_table(node: cst.CSTNode) -> Iterator[cst.CSTNode]:
    if not isinstance(node, cst.Dict | cst.List | cst.Set | cst.Tuple):
        return
    rows = node.elements
    if len(rows) > 1:
        for i in range(len(rows)):
            yield node.with_changes(elements=[*rows[:i], *rows[i + 1 :]])
    pairs = [row for row in rows if isinstance(row, cst.DictElement)]
    for one, other in zip(pairs, pairs[1:] + pairs[:1], strict=True):
        if not one.value.deep_equals(other.value):
            yield node.with_deep_changes(one, value=other.value)


def _try(trial: Trial) -> tuple[Mutant, bool]:
    def passes() -> bool:
        signal.alarm(MAX_SECONDS)
        sys.dont_write_bytecode = True
        sys.meta_path.insert(0, _MutatedFile(trial.mutant))
        arguments = ["--rootdir=.", "-x", "-q", "-p", "no:cacheprovider"]
        return all(pytest.main([*arguments, *each]) == pytest.ExitCode.OK for each in trial.tests)

    return trial.mutant, status_of(passes) == 0


@frozen
class _MutatedFile(MetaPathFinder):
    """An importer that replaces one module by its mutant."""

    mutant: Mutant

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if fullname != ".".join(self.mutant.path.with_suffix("").parts):
            return None
        loader = _MutantLoader(fullname, str(self.mutant.path.absolute()))
        loader.code = self.mutant.code
        return spec_from_file_location(fullname, loader.path, loader=loader)


class _MutantLoader(SourceFileLoader):
    code: str

    def get_code(self, fullname: str) -> CodeType:
        return compile(self.code, self.path, "exec")
