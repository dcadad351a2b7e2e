"""Values of recipients with which content shows each of its branches."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import date, timedelta
from itertools import islice
from typing import Final, TypeAlias

from attrs import define, field

from ..arguments import require_type
from ..conditions import AllOf, AnyOf, Comparison, Condition, Not, Value
from ..conditions.evaluation import RecipientValues
from ..conditions.literals import to_scalar
from ..conditions.tree import comparisons, condition_keys
from ..data_paths import DataPath
from ..fields.protocol import Field
from ..fields.values import DataType, Scalar
from ..recipients.schema import RecipientSchema
from .resolution import EMAIL_KEY, OWN_EMAIL, FieldResolver
from .tree import Block, Content, Node, require_content

__all__ = ["find_examples"]

MAX_EXAMPLES: Final = 20
"""Examples of one content."""
_MAX_PATHS = 200
"""Branches for which values are searched."""
_MAX_STEPS = 8
"""Values that are changed for one branch, one after the other."""
_MAX_COMPARISONS = 100_000
"""Comparisons in one search. They take about 0.1 s."""
_MAX_CANDIDATES = 12
"""Values of one field that are tried."""

_Path: TypeAlias = tuple[tuple[Condition, bool], ...]
"""The conditions on the way to a branch, and whether each is true there."""


def find_examples(
    content: Content,
    fields: Iterable[Field],
    values: Mapping[str, object],
    *,
    resolved: Mapping[str, str] | None = None,
) -> tuple[Mapping[str, object], ...]:
    """Return `values`, and those of recipients who read the branches that the others do not read.

    The arguments are those of `preview_content`, which accepts the content and the values. There
    are at most 20 examples. A branch without an example is impossible, such as one for
    `x = 1 and x = 2`, or the search would take too long.

    Raises: TypeError if the content is not parsed.
    """
    require_content(content)
    require_type(Iterable, fields=fields)
    require_type(Mapping, values=values)
    require_type(Mapping | None, resolved=resolved)
    by_key = {EMAIL_KEY: OWN_EMAIL, **{str(field.key): field for field in fields}}
    search = _Search(RecipientSchema(by_key))
    examples: list[Mapping[str, object]] = [values]
    resolver = FieldResolver(by_key, resolved)
    for path in islice(_paths(content.nodes, resolver, ()), _MAX_PATHS):
        if any(isinstance(key, DataPath) for each, _ in path for key in condition_keys(each)):
            continue  # It depends on event data, which no recipient has.
        if len(examples) < MAX_EXAMPLES and not any(search.fits(path, each) for each in examples):
            found = search.find(path, values)
            examples += [] if found is None else [found]
    return tuple(examples)


def _paths(nodes: Iterable[Node], resolver: FieldResolver, outer: _Path) -> Iterator[_Path]:
    """Yield the way to each branch, and to the absence of all branches of a block."""
    for node in nodes:
        if not isinstance(node, Block):
            continue
        before = outer
        for branch in node.branches:
            condition = None if branch.condition is None else resolver.resolve(branch.condition)
            inner = before if condition is None else (*before, (condition, True))
            yield inner
            yield from _paths(branch.nodes, resolver, inner)
            if condition is not None:
                before = (*before, (condition, False))
        if node.branches[-1].condition is not None:
            yield before


@define
class _Search:
    """A search for values that make conditions true or false."""

    _schema: RecipientSchema
    _left: int = field(default=_MAX_COMPARISONS, init=False)

    def fits(self, path: _Path, values: Mapping[str, object]) -> bool:
        """Return whether a recipient with these values reads the branch."""
        return self._score(path, values) == len(path)

    def find(self, path: _Path, first: Mapping[str, object]) -> Mapping[str, object] | None:
        """Return values for the branch, or None. Each step changes the value that helps most."""
        values, score = dict(first), self._score(path, first)
        candidates = self._candidates(path)
        for _ in range(_MAX_STEPS):
            if score == len(path) or self._left <= 0:
                break
            changed = [
                {**values, key: value} for key, tried in candidates.items() for value in tried
            ]
            best = max(changed, key=lambda each: self._score(path, each), default=values)
            if self._score(path, best) <= score:
                break
            values, score = best, self._score(path, best)
        return values if score == len(path) else None

    def _candidates(self, path: _Path) -> Mapping[str, Sequence[Scalar | None]]:
        """Return values for each key: none, and those around the compared ones."""
        found: dict[str, dict[Scalar | None, None]] = {}
        for condition, _ in path:
            for each in comparisons(condition):
                definition = self._schema.fields[each.key]
                tried = found.setdefault(each.key, {None: None})
                if definition.data_type is DataType.BOOLEAN:
                    tried |= {True: None, False: None}
                allowed = definition.allowed_values
                values = _around(each) if allowed is None else (*each.values, *allowed.values)
                for value in map(to_scalar, values):
                    if not self._schema.check({each.key: value}).violations:
                        tried[value] = None
        return {key: tuple(tried)[:_MAX_CANDIDATES] for key, tried in found.items()}

    def _score(self, path: _Path, values: Mapping[str, object]) -> float:
        """Return how many of the conditions are as they should be. Parts of them count in part."""
        self._left -= len(values) + sum(1 for each, _ in path for _ in comparisons(each))
        if self._left <= 0:
            return 0
        recipient = RecipientValues.read(self._schema, values)
        return sum(_fit(condition, recipient, wanted=wanted) for condition, wanted in path)


def _fit(condition: Condition, recipient: RecipientValues, *, wanted: bool) -> float:
    """Return a number from 0 to 1, which is 1 if the condition is as wanted."""
    match condition:
        case Not(negated):
            return _fit(negated, recipient, wanted=not wanted)
        case AllOf(conditions) | AnyOf(conditions):
            fits = [_fit(each, recipient, wanted=wanted) for each in conditions]
            needs_all = isinstance(condition, AllOf) is wanted
            return sum(fits) / len(fits) if needs_all else max(fits)
    return float(recipient.satisfy(condition) is wanted)


def _around(comparison: Comparison) -> Iterator[Value]:
    """Yield the compared values, and for numbers and dates the next smaller and greater ones."""
    for value in comparison.values:
        yield value
        if isinstance(value, date) and date.min.year < value.year < date.max.year:
            yield value - timedelta(days=1)
            yield value + timedelta(days=1)
        elif isinstance(value, int | float) and not isinstance(value, bool):
            yield value - 1
            yield value + 1
