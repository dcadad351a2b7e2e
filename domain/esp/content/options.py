"""The options of an export."""

from __future__ import annotations

from collections.abc import Collection

from attrs import field, frozen

from ...arguments import require_type
from ...content import DEFAULT_STRICT, Strict, Surface
from ...content.warning_codes import require_strict
from ...errors import InvalidInput, Rule, Violation, Violations

__all__ = ["MAX_LITERALS", "MAX_LITERAL_LENGTH", "ExportOptions"]

MAX_LITERALS = 100
"""The maximum number of literals. Each one is searched in the content."""
MAX_LITERAL_LENGTH = 1_000
"""The maximum number of characters in a literal."""


def to_surface(surface: Surface | str | None) -> Surface | None:
    """Return the surface. Raises: ValueError if it is the text of none."""
    return None if surface is None else Surface(surface)


def to_texts(literals: Collection[str]) -> tuple[str, ...]:
    """Return the literals.

    Raises: InvalidInput, with all violations, if there are over 100, or if one is empty or has over
    1,000 characters; TypeError if they are no texts.
    """
    require_type(Collection, literals=literals)
    if isinstance(literals, str) or not all(isinstance(each, str) for each in literals):
        raise TypeError('literals must be a collection of texts, such as ["{{x}}"].')
    texts = tuple(literals)
    violations = Violations()
    if len(texts) > MAX_LITERALS:
        message = f"There are at most {MAX_LITERALS} literals."
        violations.append(Violation(Rule.TOO_MANY_ITEMS, message))
    for index, literal in enumerate(texts[:MAX_LITERALS]):
        if not literal:
            message = "Write the text that stays, or remove this literal."
            violations.append(Violation(Rule.BLANK, message, (str(index),)))
        if len(literal) > MAX_LITERAL_LENGTH:
            message = f"A literal has at most {MAX_LITERAL_LENGTH:,} characters."
            violations.append(Violation(Rule.TOO_LONG, message, (str(index),)))
    if violations:
        raise InvalidInput(each.prefixed("literals") for each in violations)
    return texts


def _require_raw(_options: object, _attribute: object, raw: object) -> None:
    require_type(bool, raw=raw)


def _require_strict(_options: object, _attribute: object, strict: object) -> None:
    require_strict(strict)


def _to_way(sent_by: str | None) -> str | None:
    require_type(str | None, sent_by=sent_by)
    return sent_by


@frozen(kw_only=True)
class ExportOptions:
    """How content is exported.

    Without a `surface`, content with an HTML tag is `html`, and other content `text`. Values of
    text fields are escaped in HTML, and nowhere else, if the ESP has code for it. If `raw` is true,
    the ESP shows them as it does, and there is no warning about that. `strict` rejects
    mistakes unless it is false, and caveats, too, if it is true. `literals` are texts that must
    stay as they are: there are no warnings about them. `sent_by` is the way in which the message is
    sent, such as `event_properties`: without it, event data is read in the ESP's usual way.

    Raises: InvalidInput if there are over 100 literals, or if one is empty or has over 1,000
    characters; ValueError if the surface is the text of none; TypeError if an option has another
    type.
    """

    surface: Surface | None = field(default=None, converter=to_surface)
    raw: bool = field(default=False, validator=_require_raw)
    strict: Strict = field(default=DEFAULT_STRICT, validator=_require_strict)
    literals: tuple[str, ...] = field(default=(), converter=to_texts)
    sent_by: str | None = field(default=None, converter=_to_way)
