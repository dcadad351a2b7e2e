"""The compiler of conditions: code for one ESP, or the reason why there is none."""

from __future__ import annotations

import re
from collections.abc import Iterable

from attrs import frozen

from ...conditions import Condition, TextPosition
from ...conditions.tree import require_condition
from ...content import WarningCode, WarningKind
from ...fields.field import RecipientField
from ..derived_codes import derive_codes
from ..dialects import DIALECTS, Esp
from ..errors import NotExpressible
from .code_parts import Caveat
from .formulas import atoms
from .languages import LANGUAGES
from .translation import Translation

MAX_ATOMS = 100
"""The number of tests in one condition. Engines evaluate long chains recursively."""


@frozen
class ConditionWarning:
    """A known case in which the ESP can read the code of a condition differently.

    `places` are the positions of its comparisons, in order. A condition that was not parsed from
    text has none.
    """

    message: str
    code: WarningCode
    places: tuple[TextPosition, ...]


@frozen
class ConditionCode:
    """A condition in the language of an ESP, with the texts that it selects.

    `prelude` is code that must precede the first use of `code`.
    """

    code: str
    prelude: str | None
    warnings: tuple[ConditionWarning, ...]

    @property
    def caveats(self) -> tuple[str, ...]:
        """The messages of the warnings that are caveats."""
        return tuple(each.message for each in self.warnings if each.code.kind is WarningKind.CAVEAT)


def compile_condition(
    condition: Condition,
    fields: Iterable[RecipientField],
    esp: Esp | str,
    *,
    then: str,
    otherwise: str = "",
) -> ConditionCode:
    """Return the code that renders `then` if the condition holds, and `otherwise` if not.

    The condition must have passed `check_condition` with these fields. Both texts are copied
    verbatim, several times if the language has neither `and` nor variables.

    Raises: NotExpressible if the ESP can't express the condition, or if no source establishes how;
    TypeError if the condition is not parsed; ValueError if `esp` is the text of no ESP.
    """
    require_condition(condition)
    esp = Esp(esp)
    language = LANGUAGES[esp]
    for name, text in (("then", then), ("else", otherwise)):
        if re.search(language.inseparable, text) is not None:
            raise NotExpressible(
                f"{DIALECTS[esp].title} would read a part of the text for {name} as code. Add a"
                " space at its ends, or complete its tags.",
                name,
            )
    translation = Translation(esp, language, {str(field.key): field for field in fields})
    formula = translation.formula(condition)
    if len(list(atoms(formula))) > MAX_ATOMS:
        raise NotExpressible(
            f"The code would contain more than {MAX_ATOMS} tests. Compare with fewer values."
        )
    code = language.write(language, formula, language.text(then), language.text(otherwise))
    prelude = None
    if DIALECTS[esp].prelude is not None:
        prelude = _prelude(esp, translation) or None
    title = DIALECTS[esp].title
    warnings = tuple(
        ConditionWarning(caveat.message.format(title=title), caveat.code, tuple(places))
        for caveat, places in translation.caveats.items()
    )
    return ConditionCode(code, prelude, warnings)


def _prelude(esp: Esp, translation: Translation) -> str:
    """Return the code that sets the variables of the fields in use, once each."""
    preludes: dict[str, str] = {}
    for expression, field in translation.operands.items():
        name = field.origin.esp_field_name
        codes = derive_codes(esp, name) if name is not None else None
        if codes is None or codes.prelude is None or codes.value_expression != expression:
            message = f"The content must set {expression} before this code."
            caveat = Caveat(WarningCode.VARIABLE_NOT_SET, message)
            translation.warn(caveat, translation.operand_places[expression])
        elif preludes.setdefault(expression.lower(), codes.prelude) != codes.prelude:
            raise NotExpressible(f"{field.key}: another field of the condition sets {expression}.")
    return "".join(preludes.values())
