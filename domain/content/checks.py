"""Checks of content against the fields of an organization."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain, islice

from ..conditions import InvalidCondition, LocatedViolation
from ..conditions.tree import comparisons
from ..data_paths import DataPath
from ..errors import Rule
from ..fields.protocol import Field
from .errors import MAX_VIOLATIONS, InvalidContent
from .filters import find_type_error
from .html import DoesNotFit
from .resolution import FieldResolver
from .syntax import located_violations
from .tree import Branch, Content, Reference, require_content

_MAX_CONDITION_VIOLATIONS = 200
"""After this number, conditions are not checked. Each check can search for similar words."""


def require_fields(content: Content, resolver: FieldResolver) -> None:
    """Require that `find_violations` finds none. Raises: InvalidContent if it does."""
    violations = find_violations(content, resolver)
    if violations:
        raise InvalidContent(violations)


def find_violations(content: Content, resolver: FieldResolver) -> list[LocatedViolation]:
    """Return up to 1,000 reasons why the content can't be shown to recipients with the fields.

    A field is unknown, a filter or a condition does not fit the fields, or the content has
    violations. Only the first 200 violations of conditions are reported. Raises: TypeError if the
    content is not parsed.
    """
    require_content(content)
    refused = {each.position for each in content.violations}
    unfit = (each for each in _violations(content, resolver) if each.position not in refused)
    return list(islice(chain(content.violations, unfit), MAX_VIOLATIONS))


def _violations(content: Content, resolver: FieldResolver) -> Iterator[LocatedViolation]:
    """Yield the unknown keys, the filters of other types, and the violations of conditions."""
    for reference in content.references():
        field = resolver.find_shown(reference)
        if field is None:
            yield _unknown_field(content, reference.start, reference.key, resolver)
        elif (error := _find_type_error(reference, field)) is not None:
            yield content.lines.violation(reference.start, Rule.TYPE, error)
        elif (misfit := _find_misfit(content, reference)) is not None:
            yield content.lines.violation(reference.start, Rule.NOT_APPLICABLE, misfit)
    reported = 0
    for branch in content.branches():
        for violation in _condition_violations(content, branch, resolver):
            reported += 1
            yield violation
        if reported >= _MAX_CONDITION_VIOLATIONS:
            return


def _find_type_error(reference: Reference, field: Field) -> str | None:
    is_data = isinstance(reference.key, DataPath)
    return find_type_error(reference.filters, field.data_type, is_data=is_data)


def _find_misfit(content: Content, reference: Reference) -> str | None:
    """Return why the default can't be at its place, or None."""
    if reference.default:
        try:
            content.html.fit(reference.default, reference.start)
        except DoesNotFit as error:
            return f"This default is not possible here: {error}. Write a default without it."
    return None


def _unknown_field(
    content: Content, offset: int, key: str, resolver: FieldResolver
) -> LocatedViolation:
    suggestion = resolver.suggest(key)
    unknown, explanation = f"There is no field with the key {key}.", resolver.explain_key(key)
    message = unknown if explanation is None else f"{unknown} {explanation}"
    return content.lines.violation(offset, Rule.UNKNOWN_FIELD, message, suggestion)


def _condition_violations(
    content: Content, branch: Branch, resolver: FieldResolver
) -> Iterator[LocatedViolation]:
    condition = branch.condition
    if condition is None:
        return
    unknown = [each for each in comparisons(condition) if resolver.find(each.key) is None]
    for comparison in unknown:
        offset = content.lines.offset(comparison)
        yield _unknown_field(content, offset, comparison.key, resolver)
    if not unknown:
        try:
            resolver.check(condition)
        except InvalidCondition as invalid:
            yield from located_violations(invalid)
