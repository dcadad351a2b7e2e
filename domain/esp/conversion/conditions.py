"""Tests of a template: the conditions on fields that mean the same."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence, Set
from functools import cache
from typing import TypeVar

from attrs import Factory, define, evolve, field, frozen

from ...conditions import (
    AllOf,
    AnyOf,
    Comparison,
    Condition,
    InvalidCondition,
    Not,
    Operator,
    Value,
)
from ...conditions.evaluation import compare
from ...conditions.literals import date_literal, number_literal, text_literal, type_of
from ...conditions.syntax import format_condition
from ...content import WarningCode
from ...data_paths import LOOP, DataPath
from ...fields.values import DataType
from ..languages.conditions import Falsy, Feature, Presence
from ..languages.tree import Call, Expression, Filter, Filtered, Literal, Operation, Path, Special
from ..profiles.profile import Profile
from .code import DEFAULT, SLOT, match_code, read_test
from .outcomes import ByHand
from .source_fields import SourceField
from .values import NO_CONDITION, Values, refuse_changed

_OPERATORS = {
    "==": Operator.EQUAL,
    "!=": Operator.NOT_EQUAL,
    "<": Operator.LESS,
    "<=": Operator.AT_MOST,
    ">": Operator.GREATER,
    ">=": Operator.AT_LEAST,
}
_READ_AS_NUMBERS = {DataType.NUMBER, DataType.DATE}
_BOOLEANS = {"true": True, "false": False}
_DIGITS_OF_DATE = 8
_NUMBER = re.compile(r"-?[0-9]+(?:\.[0-9]+)?")
_SHORTEST_NUMBER = re.compile(r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]*[1-9])?")
"""Other texts of digits are rather codes: 01234, or 1.10."""
_FLIPPED = {"==": "==", "!=": "!=", "<": ">", "<=": ">=", ">": "<", ">=": "<="}
_SYMBOLS = {operator: symbol for symbol, operator in _OPERATORS.items()}
_COMPARISONS = {
    WarningCode.CASE_INSENSITIVE,
    WarningCode.NUMBER_AS_TEXT,
    WarningCode.UNKNOWN_CASE_AND_SPACES,
    WarningCode.UNKNOWN_COMPARISON,
    WarningCode.UNKNOWN_NUMBER_FORM,
}
"""The caveats of a profile about which values are equal or less. They apply to read code, too."""
_POSSIBLE: Mapping[DataType | None, Set[Falsy]] = {
    None: set(Falsy),
    DataType.TEXT: {Falsy.EMPTY_TEXT, Falsy.WHITE_SPACE},
    DataType.NUMBER: {Falsy.ZERO},
    DataType.BOOLEAN: {Falsy.FALSE},
}
"""The falsy values that fields of each type can have, beside a missing one."""
_IN_CONTENT = Presence((), frozenset({Falsy.MISSING, Falsy.EMPTY_TEXT}))
"""The test of content, for which the target has one of each type."""
_ASSUMED = _IN_CONTENT.falsy | {Falsy.FALSE, Falsy.ZERO, Falsy.EMPTY_LIST}
"""The falsy values of languages for which they are not established."""
_NO_VALUES: frozenset[Falsy] = frozenset()
_FLAGS = {Falsy.MISSING, Falsy.FALSE, Falsy.WHITE_SPACE}
"""The values that must have the same meaning, also if the type of a field is not known."""

_SEVERAL = "No source says how {title} reads several tests in one tag. Write a block for each."
_UNKNOWN_TYPE = "No tag shows the type of {key}. "
_GIVE_TYPE = "Give it, or write the condition."
_PRESENT = "This code reads {values} in {{key}} as a value, and {{title}} as none."
_ABSENT = "This code reads {values} in {{key}} as no value, and {{title}} as one."
_REPLACED = "The default in this test replaces {value} in {{key}} at {{title}}, too."
_NOT_IN = "For a value of {key} that is missing or null, `not in` does not hold at {title}."
_LIST = "If {key} is a list at {title}, this tests its items. Here, it tests a part of a text."


T = TypeVar("T")
V = TypeVar("V")


@define
class Conditions:
    """Reads the tests in the templates of an ESP.

    `exact` refuses what is not right for each type. `forms` are the tests of the target, whether a
    value is set, for values whose type is not known.
    """

    _values: Values
    _exact: bool
    _forms: Sequence[Presence]
    presences: dict[str, Presence] = Factory(dict)
    """The tests of the target whether a value is set, by the keys for which they differ."""
    _tests: dict[str, tuple[SourceField, list[frozenset[Falsy]]]] = Factory(dict)
    """The fields, by their names in content, and what each test reads as no value."""
    _caveats: dict[tuple[str, str], None] = Factory(dict)
    """By the key of a field."""
    _title: str = field(init=False)

    def __attrs_post_init__(self) -> None:
        self._title = self._values.profile.title

    def read(self, test: Expression) -> tuple[str, tuple[str, ...]]:
        """Return the test as a condition of content, and its caveats. Raises: ByHand."""
        self._caveats.clear()
        self._tests.clear()
        text = format_condition(self._condition(test))
        for source, tests in self._tests.values():
            for falsy in tests:
                self._compare(source, falsy)
        caveats = (each.format(key=key, title=self._title) for key, each in self._caveats)
        return text, tuple(dict.fromkeys(caveats))

    def _condition(self, test: Expression) -> Condition:
        for pattern in _patterns(self._values.profile):
            slots: dict[str, Expression] = {}
            if match_code(pattern.code, test, slots):
                found = self._of_pattern(pattern, slots)
                match found:
                    case Comparison(operator=Operator.IS_SET) if pattern.negated:
                        return evolve(found, operator=Operator.IS_NOT_SET)
                return Not(found) if pattern.negated else found
        match test:
            case Call("and" | "or" | "not" as word, operands):
                return self._condition(Operation(word, operands))
            case Operation("and", operands):
                return self._joined(AllOf, [self._condition(each) for each in operands])
            case Operation("or", operands):
                return self._joined(AnyOf, [self._condition(each) for each in operands])
            case Operation("not", (operand,)):
                negated = self._condition(operand)
                if isinstance(negated, Comparison) and negated.operator is Operator.CONTAINS:
                    self._caveats[negated.key.removeprefix(_PREFIX), _NOT_IN] = None
                if isinstance(negated, Comparison) and negated.key.startswith(_LOOP_TEST):
                    return evolve(negated, key=negated.key.replace(" is ", " is not "))
                return Not(negated)
            case Operation("contains", (whole, Literal(str() as part))):
                return self._contains(whole, part)
            case Operation(operator, (Literal(), Literal())) if operator in _OPERATORS:
                raise ByHand(NO_CONDITION)
            case Operation(operator, (Literal() as left, right)) if operator in _OPERATORS:
                return self._condition(Operation(_FLIPPED[operator], (right, left)))
            case Operation(operator, (left, Literal() as right)) if operator in _OPERATORS:
                return self._comparison(operator, left, right)
            case Operation("joined"):
                raise ByHand(_SEVERAL.format(title=self._title))
            case Operation() | Literal():
                raise ByHand(NO_CONDITION)
        return self._truth(self._operand(test))

    def _of_pattern(self, pattern: _Pattern, slots: Mapping[str, Expression]) -> Condition:
        """Return the condition of a test that the profile of the ESP names."""
        value, other, operator = slots[SLOT], slots.get(DEFAULT), pattern.operator
        match other:
            case None:
                if pattern.falsy >= _IN_CONTENT.falsy:
                    value = self._values.without_case_filters(value)
                source = self._operand(value)
                if operator is not Operator.IS_SET:
                    self._values.fields.require(source, DataType.BOOLEAN)
                    is_true = operator is Operator.IS_TRUE
                    return _comparison(source, Operator.EQUAL, is_true)
                self._warn_of_default(source, value)
                return self._is_set(source, pattern.falsy)
            case Literal(str() as part) if operator is Operator.CONTAINS:
                return self._contains(value, part)
            case Literal():
                return self._comparison(_SYMBOLS[operator], value, other)
        raise ByHand(NO_CONDITION)

    def _joined(self, kind: type[AllOf | AnyOf], parts: Sequence[Condition]) -> Condition:
        """Return the conditions together. Tests whether one value is set become one."""
        flat = [
            each
            for part in parts
            for each in (part.conditions if isinstance(part, kind) else [part])
        ]
        wanted = Operator.IS_SET if kind is AllOf else Operator.IS_NOT_SET
        for each, count in Counter(flat).items():
            if count > 1 and isinstance(each, Comparison) and each.operator is wanted:
                source, tests = self._tests.get(each.key, (None, ()))
                if source is not None and len(tests) == count:
                    self._tests[each.key] = source, [frozenset().union(*tests)]
        unique = tuple(dict.fromkeys(flat))
        return unique[0] if len(unique) == 1 else kind(unique)

    def _truth(self, source: SourceField) -> Condition:
        """Return the condition of a value that is a test by itself."""
        if isinstance(source.key, DataPath) and source.key.is_state:
            return Comparison(f"{_LOOP_TEST}{source.key.without_root}", Operator.IS_TRUE)
        established = self._values.profile.conditions.presences
        falsy = established[0].falsy if established else _ASSUMED
        data_type = self._type(source)
        if (self._find_presence(falsy, data_type).falsy ^ falsy) & _possible(data_type):
            if data_type is DataType.BOOLEAN:
                return _comparison(source, Operator.IS_TRUE)
            if data_type is DataType.NUMBER:
                is_set = _comparison(source, Operator.IS_SET)
                return AllOf((is_set, Comparison(is_set.key, Operator.NOT_EQUAL, 0)))
        return self._is_set(source, falsy)

    def _is_set(self, source: SourceField, falsy: Set[Falsy]) -> Comparison:
        """Return the test whether a value is set, which reads these values as none."""
        self._tests.setdefault(source.reference, (source, []))[1].append(frozenset(falsy))
        return _comparison(source, Operator.IS_SET)

    def _find_presence(self, falsy: Set[Falsy], data_type: DataType | None) -> Presence:
        """Return the test of the target that is nearest. That of content has no tests."""
        forms = self._forms
        if data_type is not None or not forms:
            forms = (_IN_CONTENT, *forms)

        def cost(form: Presence) -> tuple[int, ...]:
            differing = (form.falsy ^ falsy) & _possible(data_type)
            if data_type is not None or self._exact:
                return len(differing), len(form.tests)
            wrong = differing & _FLAGS | {Falsy.EMPTY_TEXT} & falsy - form.falsy
            return len(wrong), len(form.tests), len(differing)

        return min(forms, key=cost)

    def _compare(self, source: SourceField, falsy: frozenset[Falsy]) -> None:
        """Choose the test of the target, and add the caveats about it. Raises: ByHand."""
        data_type = self._type(source)
        if source.key not in self.presences:
            self.presences[source.key] = self._find_presence(falsy, data_type)
        written = self.presences[source.key].falsy
        for values, message in ((falsy - written, _PRESENT), (written - falsy, _ABSENT)):
            names = [each.value for each in Falsy if each in values & _possible(data_type)]
            if names and data_type is None and self._exact:
                raise ByHand(_UNKNOWN_TYPE.format(key=source.key) + _GIVE_TYPE)
            if names:
                listed = " and ".join(filter(None, (", ".join(names[:-1]), names[-1])))
                unknown = "" if data_type else _UNKNOWN_TYPE
                self._warn(source, unknown + message.format(values=listed))

    def _comparison(self, operator: str, left: Expression, right: Literal) -> Condition:
        value = right.value
        if value is None or value == "" or isinstance(value, Special):
            return self._emptiness(operator, left, right)
        source, read_as = _found(self._values.compared(left))
        if isinstance(value, str) and self._is_number(source, operator, value):
            value = float(value)
        elif value in _BOOLEANS and self._values.fields.type_of(source) is DataType.BOOLEAN:
            value = _BOOLEANS[str(value)]
        literal = _as_type(value, read_as)
        data_type = type_of(literal)
        if read_as not in {data_type, None}:
            raise refuse_changed(left)  # The reading is a filter of the source, such as `lower`.
        self._values.fields.require(source, data_type, literal)
        is_order = operator not in {"==", "!="}
        if data_type in {DataType.TEXT, DataType.BOOLEAN} and is_order:
            raise ByHand("Texts have no order here. Write this condition for the other ESP.")
        if data_type is DataType.TEXT:
            self._warn_of(source, Feature.TEXT_EQUALITY)
        elif data_type is DataType.NUMBER:
            self._warn_of(source, Feature.ORDER if is_order else Feature.NUMBER_EQUALITY)
        compared = _comparison(source, _OPERATORS[operator], literal)
        # The default is another value than each number and boolean.
        is_zero = isinstance(literal, int | float) and compare(compared, 0)
        if is_zero != (operator == "!="):
            self._warn_of_default(source, left)
        # Liquid reads a missing value as 0 if it reads it as a number.
        readings = self._values.profile.conditions.readings
        is_number = read_as in _READ_AS_NUMBERS and readings[read_as].date is None
        is_missing_read = is_number and isinstance(value, int | float)
        if is_missing_read and compare(evolve(compared, value=value), 0):
            return AnyOf((_comparison(source, Operator.IS_NOT_SET), compared))
        return compared

    def _is_number(self, source: SourceField, operator: str, text: str) -> bool:
        """Return whether a text is compared as a number, in a language whose literals are texts."""
        profile = self._values.profile
        is_text = profile.conditions.quotes_numbers or profile.conditions.quote is None
        is_order = operator not in {"==", "!="}
        is_zero = text == "0" and profile.conditions.zero == '"0"'
        data_type = self._values.fields.type_of(source)
        if not is_order and data_type not in {DataType.NUMBER, None}:
            return False
        form = _NUMBER if is_order or data_type is DataType.NUMBER else _SHORTEST_NUMBER
        return form.fullmatch(text) is not None and (is_text or is_zero)

    def _emptiness(self, operator: str, left: Expression, right: Literal) -> Condition:
        """Return the condition that a value is set, or is not: a test for null or an empty text."""
        if operator not in {"==", "!="}:
            raise ByHand(NO_CONDITION)
        source = self._operand(left)
        falsy = {Falsy.MISSING} if right.value is None else {Falsy.EMPTY_TEXT}
        if not self._values.profile.conditions.presences or _shows_nothing_for_null(left):
            falsy = {*_IN_CONTENT.falsy}
        self._warn_of_default(source, left)
        is_set = self._is_set(source, falsy)
        return is_set if operator == "!=" else evolve(is_set, operator=Operator.IS_NOT_SET)

    def _contains(self, whole: Expression, part: str) -> Condition:
        source = self._operand(whole)
        literal = _checked(text_literal, part)
        if self._values.fields.has_type(source):
            self._values.fields.require(source, DataType.TEXT)
        else:
            source.is_shown_as_text = True
            self._warn(source, _LIST)
        self._warn_of(source, Feature.CONTAINS)
        return _comparison(source, Operator.CONTAINS, literal)

    def _operand(self, value: Expression) -> SourceField:
        return _found(self._values.operand(value))

    def _type(self, source: SourceField) -> DataType | None:
        """Return the type of the field, or None if no tag shows it, or if it is only assumed."""
        fields = self._values.fields
        return None if self._exact and not fields.has_type(source) else fields.type_of(source)

    def _warn_of(self, source: SourceField, feature: Feature) -> None:
        """Add the caveats about how the ESP compares values: content compares all of a value."""
        for caveat in self._values.profile.conditions.caveats.get(feature, ()):
            if caveat.code in _COMPARISONS:
                self._warn(source, caveat.message)

    def _warn_of_default(self, source: SourceField, value: Expression) -> None:
        """Add the caveat that a default in the test replaces values, if there is one."""
        replaced = self._values.replaced_values(value)
        if replaced:
            self._warn(source, _REPLACED.format(value=replaced))

    def _warn(self, source: SourceField, caveat: str) -> None:
        self._caveats[source.key, caveat] = None


_PREFIX = "recipient."
_LOOP_TEST = f"{LOOP} is "


@frozen
class _Pattern:
    """A test that the ESP writes in a form of its own, and what it means.

    `falsy` are the values that count as none if it tests whether a value is set.
    """

    code: Expression
    operator: Operator
    negated: bool
    falsy: Set[Falsy]


@cache
def _patterns(profile: Profile) -> Sequence[_Pattern]:
    """Return the tests of the profile in forms of their own, those with the most parts first."""
    language = profile.conditions
    sets = [
        *language.presences,
        Presence(language.is_set, _IN_CONTENT.falsy),
        Presence(language.number_is_set or (), _IN_CONTENT.falsy),
    ]
    atoms = [
        (Operator.IS_TRUE, language.true),
        (Operator.EQUAL, language.false),
        (Operator.EQUAL, language.equal),
        (Operator.EQUAL, language.equal_texts),
        *language.order.items(),
        (Operator.CONTAINS, language.contains),
    ]
    found: dict[Expression, _Pattern] = {}
    for operator, atom, falsy in (
        *((Operator.IS_SET, each.tests[0], each.falsy) for each in sets if len(each.tests) == 1),
        *((operator, atom, _NO_VALUES) for operator, atom in atoms if atom is not None),
    ):
        for code, negated in ((atom.code, False), (atom.opposite or "", True)):
            written = code.replace("{operand}", SLOT).replace("{value}", f'"{DEFAULT}"')
            test = read_test(profile, written)
            is_plain = isinstance(test, Literal | Path) if falsy else _is_plain(test)
            if not is_plain:
                found.setdefault(test, _Pattern(test, operator, negated, falsy))
    return sorted(found.values(), key=lambda each: -len(str(each.code)))


def _is_plain(test: Expression) -> bool:
    """Return whether the test is a value, or the comparison of one with a literal."""
    match test:
        case Operation("not", (operand,)):
            return _is_plain(operand)
        case Operation(operator, (left, right)) if operator in _OPERATORS or operator == "contains":
            return isinstance(left, Literal | Path) and isinstance(right, Literal | Path)
    return isinstance(test, Literal | Path)


def _possible(data_type: DataType | None) -> Set[Falsy]:
    """Return the falsy values that fields of the type can have."""
    return {Falsy.MISSING} | _POSSIBLE.get(data_type, set())


def _comparison(source: SourceField, operator: Operator, value: Value | None = None) -> Comparison:
    return Comparison(source.reference, operator, value)


def _as_type(value: str | float, data_type: DataType | None) -> Value:
    """Return the literal as a value of the type, if it can have it. Raises: ByHand."""
    if data_type is DataType.BOOLEAN and value in _BOOLEANS:
        return _BOOLEANS[str(value)]
    digits = str(value)
    if data_type is DataType.DATE and len(digits) == _DIGITS_OF_DATE and digits.isdecimal():
        return _checked(date_literal, f"{digits[:4]}-{digits[4:6]}-{digits[6:]}")
    if isinstance(value, bool):
        return value
    if isinstance(value, str):
        return _checked(text_literal, value)
    return _checked(number_literal, value)


def _found(found: T | None) -> T:
    """Return what a test compares. Raises: ByHand if this is no value of a field."""
    if found is None:
        raise ByHand(NO_CONDITION)
    return found


def _checked(check: Callable[[T], V], value: T) -> V:
    """Return the literal. Raises: ByHand if conditions can't have it."""
    try:
        return check(value)
    except InvalidCondition as error:
        raise ByHand(error.violations[0].message) from None


def _shows_nothing_for_null(value: Expression) -> bool:
    match value:
        case Filtered(_, (*_, Filter("default_if_none" | "default", (Literal(""),)))):
            return True
    return False
