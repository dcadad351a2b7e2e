"""The code of conditions, with marks for the texts in it."""

from __future__ import annotations

from ...conditions import Comparison, Condition
from ...conditions.tree import comparisons
from ..conditions import ConditionCode
from ..conditions.compilation import compile_readings
from ..errors import NotExpressible
from ..profiles.profile import Profile
from .resolver import CodeResolver

THEN, OTHERWISE = "\0then\0", "\0otherwise\0"
"""Marks for the texts in the code of a condition. Neither content nor codes contain U+0000."""


class CompiledConditions:
    """The codes of conditions for one ESP. Equal conditions are compiled once."""

    def __init__(self, profile: Profile, resolver: CodeResolver) -> None:
        self._profile, self._resolver = profile, resolver
        self._found: dict[tuple[Condition, bool], ConditionCode | NotExpressible] = {}

    def get(self, condition: Condition, *, has_otherwise: bool) -> ConditionCode:
        """Return the code with marks for the texts. Raises: NotExpressible if there is none."""
        key = condition, has_otherwise
        if key not in self._found:
            try:
                self._found[key] = compile_readings(
                    condition,
                    self._resolver.read(condition),
                    self._profile,
                    then=THEN,
                    otherwise=OTHERWISE if has_otherwise else "",
                )
            except NotExpressible as error:
                self._found[key] = error
        found = self._found[key]
        if isinstance(found, NotExpressible):
            raise found
        return found

    def find_refused(self, condition: Condition) -> Comparison | None:
        """Return the first comparison of the condition that is refused by itself, or None."""
        for comparison in comparisons(condition):
            try:
                self.get(comparison, has_otherwise=False)
            except NotExpressible:
                return comparison
        return None
