"""The compiler of conditions: code for one ESP, or the reason why there is none."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

from attrs import evolve, frozen

from ..arguments import require_type
from ..conditions import Condition, TextPosition
from ..conditions.tree import comparisons, require_condition
from ..content import DEFAULT_STRICT, Strict, WarningCode, WarningKind
from ..content.warning_codes import require_strict
from .code_warnings import name_warnings
from .comparisons import Operand, Translation, find_codes, find_readings
from .errors import NotExpressible
from .field_codes import CodeSource, FieldCode
from .languages.conditions import Atom, Caveat, atoms
from .names import Target
from .profiles.profile import Profile

__all__ = ["ConditionCode", "ConditionWarning", "check_condition_for", "compile_condition"]

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
    codes: CodeSource,
    target: Target | str,
    *,
    then: str,
    otherwise: str = "",
    strict: Strict = DEFAULT_STRICT,
) -> ConditionCode:
    """Return the code that renders `then` if the condition holds, and `otherwise` if not.

    The target is an integration, or an ESP: then its only integration, if there is one. Both texts
    are copied verbatim, several times if the language has neither `and` nor variables.

    Raises: InvalidCondition if the condition does not fit the fields, as `check_condition` says;
    NotExpressible if the ESP can't express the condition, if no source establishes how, or if there
    are mistakes, unless `strict` permits them; IntegrationRequired if there are several
    integrations with the ESP, IntegrationNotFound if there is no such integration; MissingProfile
    if its ESP has no profile; TypeError if the condition is not parsed; ValueError if the target is
    the text of no ESP.
    """
    require_type(CodeSource, codes=codes)
    require_type(str, then=then, otherwise=otherwise)
    require_condition(condition)
    require_strict(strict)
    target = codes.names.resolve_target(target)
    found = find_codes(condition, codes, target)
    readings = find_readings(condition, found, codes.names.by_key)
    profile = codes.names.get_profile(target)
    code = compile_readings(condition, readings, profile, then=then, otherwise=otherwise)
    warnings = (*_name_warnings(condition, found), *code.warnings)
    rejected = [each.message for each in warnings if each.code.kind.is_rejected(strict)]
    if rejected:
        raise NotExpressible(" ".join(rejected))
    return evolve(code, warnings=warnings)


def check_condition_for(condition: Condition, codes: CodeSource, target: Target | str) -> None:
    """Check that the condition fits the fields that its keys mean at the target.

    Raises: InvalidCondition, as `check_condition` does; the other errors of `compile_condition`.
    """
    require_type(CodeSource, codes=codes)
    target = codes.names.resolve_target(target)
    find_readings(condition, find_codes(condition, codes, target), codes.names.by_key)


def compile_readings(
    condition: Condition,
    readings: Sequence[Mapping[str, Operand]],
    profile: Profile,
    *,
    then: str,
    otherwise: str,
) -> ConditionCode:
    """Return the code for the first of the readings that the ESP can express.

    Raises: NotExpressible, with the reason for the first one, if it can express none.
    """
    refusals = []
    for operands in readings:
        try:
            return _compile(condition, operands, profile, then, otherwise)
        except NotExpressible as refusal:
            refusals.append(refusal)
    raise refusals[0]


def _compile(
    condition: Condition,
    operands: Mapping[str, Operand],
    profile: Profile,
    then: str,
    otherwise: str,
) -> ConditionCode:
    language, title = profile.conditions, profile.title
    for name, text in (("then", then), ("else", otherwise)):
        if re.search(language.inseparable, text) is not None:
            raise NotExpressible(
                f"{title} would read a part of the text for {name} as code. Add a"
                " space at its ends, or complete its tags.",
                name,
            )
    translation = Translation(profile, operands)
    formula = translation.formula(condition)
    if len(list(atoms(formula))) > MAX_ATOMS:
        raise NotExpressible(
            f"The code would contain more than {MAX_ATOMS} tests. Compare with fewer values."
        )
    code = language.write(language, formula, language.text(then), language.text(otherwise))
    joined = None if isinstance(formula, Atom) else language.joined_caveat
    for caveat in (language.find_nesting(code), joined):
        if caveat is not None:
            places = (each.position for each in comparisons(condition) if each.position is not None)
            translation.warn(caveat, places)
    prelude = None
    if profile.insertion.prelude is not None:
        prelude = _prelude(translation) or None
    warnings = tuple(
        ConditionWarning(caveat.message.format(title=title), caveat.code, tuple(places))
        for caveat, places in translation.caveats.items()
    )
    return ConditionCode(code, prelude, warnings)


def _prelude(translation: Translation) -> str:
    """Return the code that sets the variables of the fields in use, once each."""
    preludes: dict[str, str] = {}
    keys: dict[str, str] = {}
    for expression, operand in translation.expressions.items():
        code, variable = operand.code, expression.lower()
        if not code.sets_variables:
            message = f"The content must set {expression} before this code."
            caveat = Caveat(WarningCode.VARIABLE_NOT_SET, message)
            translation.warn(caveat, translation.expression_places[expression])
            continue
        prelude = code.preludes[variable]
        first = keys.setdefault(variable, code.field.key)
        if preludes.setdefault(variable, prelude) != prelude:
            raise NotExpressible(shared_variable(first, code.field.key, expression))
    return "".join(preludes.values())


def shared_variable(first: str, second: str, variable: str) -> str:
    """Return the sentences that two fields set one variable, and what helps."""
    return (
        f"The fields {first} and {second} set the same variable, {variable}, from different"
        " attributes. Use only one of both."
    )


def _name_warnings(
    condition: Condition, codes: Mapping[str, FieldCode]
) -> Iterator[ConditionWarning]:
    for warning in name_warnings(codes):
        places = dict.fromkeys(
            each.position for each in comparisons(condition) if each.key in warning.keys
        )
        yield ConditionWarning(
            warning.message, warning.code, tuple(each for each in places if each is not None)
        )
