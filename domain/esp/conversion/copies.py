"""Code that content lacks, and that the languages of both ESPs have: it is copied.

Only the names of the fields differ. Content contains them as value expressions.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping

from attrs import frozen

from ...content import Surface, WarningCode
from ...fields.values import DataType
from ..errors import NotExpressible
from ..languages.conditions import Feature
from ..languages.liquid import write_value
from ..languages.tree import Expression, Filtered, Operation, Path
from ..profiles.profile import Escaping, Profile

_READS, READS_FIELD = " | expression}}", "{{recipient."
STATE = "forloop"
"""The variable of Liquid with the state of a loop."""
_TEXTS = "{title} stores numbers, true and false as texts, and this code reads them as texts."


@frozen
class Copies:
    """Copies code for the target. `filters` are those of both ESPs, with caveats."""

    target: Profile
    filters: Mapping[str, str]

    @classmethod
    def between(cls, source: Profile, target: Profile | None) -> Copies | None:
        """Return what copies code, or None if the ESPs have no common filters."""
        if target is None:
            return None
        shared = target.filters.shared.items()
        filters = {name: caveat for name, caveat in shared if name in source.filters.shared}
        return cls(target, filters) if filters else None

    def write(self, value: Expression, quote: str, write_path: Callable[[Path], str]) -> str:
        """Return the code of a value or a test, with texts in these quotes.

        Raises: NotExpressible if it has other filters, or no safe form.
        """
        names = {each.name for each in value.filters} if isinstance(value, Filtered) else set()
        if not names <= self.filters.keys():
            raise NotExpressible("The other ESP may not have these filters.")
        code = write_value(value, quote, write_path)
        if isinstance(value, Operation) and READS_FIELD in code and self._has_texts_only:
            raise NotExpressible("The comparison of a text with a number stops the message.")
        return code

    @property
    def _has_texts_only(self) -> bool:
        """Whether all values of fields are texts, whose tests need other code."""
        caveats = self.target.conditions.caveats.get(Feature.TRUE, ())
        return any(each.code is WarningCode.NO_BOOLEAN_FIELDS for each in caveats)

    def find_caveats(
        self, value: Expression, code: str, *, is_shown: bool, is_html: bool
    ) -> Iterator[str]:
        """Yield the caveats about the copy of a value. `is_shown` is whether a tag shows it."""
        target, title = self.target, self.target.title
        if isinstance(value, Filtered):
            found = dict.fromkeys(self.filters[each.name] for each in value.filters)
            yield from (each.format(title=title) for each in found if each)
        elif READS_FIELD in code and self._has_texts_only:
            yield _TEXTS.format(title=title)
        shown = target.insertion.shown_forms.get(DataType.NUMBER)
        if is_shown and shown is not None and isinstance(value, Path) and STATE not in value.parts:
            yield shown
        missing = target.insertion.missing_value
        is_read = is_shown and _READS in code
        if is_read and missing is not None and re.search(missing.pattern, code):
            yield missing.message
        if is_shown and is_html and target.surfaces.html is Escaping.UNKNOWN:
            yield target.surfaces.caveats[Surface.HTML]


def write_reference(reference: str) -> str:
    """Return the value expression of a field or of event data, in content."""
    return f"{{{{{reference}{_READS}"
