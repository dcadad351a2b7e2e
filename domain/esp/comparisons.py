"""The translation of comparisons into tests, and the fields that these compare.

Guards ensure that a missing value, 0 and false have the meaning that `evaluate` defines.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from datetime import date, datetime
from decimal import Decimal
from typing import assert_never

from attrs import Factory, define, evolve, frozen

from ..conditions import (
    AllOf,
    AnyOf,
    Comparison,
    Condition,
    InvalidCondition,
    Not,
    Operator,
    TextPosition,
)
from ..conditions.checks import check_with_keys
from ..conditions.evaluation import compare
from ..conditions.tree import condition_keys
from ..fields.protocol import Field
from ..fields.values import DataType
from ..instants import epoch_milliseconds, format_instant
from .data_codes import DataCode
from .derived_codes import is_reference, string_literal
from .errors import NoSafeForm, NotExpressible, NotInsertable
from .field_codes import CodeSource, FieldCode
from .languages.condition_writers import assign
from .languages.conditions import (
    Atom,
    Caveat,
    ConditionLanguage,
    Feature,
    Formula,
    Missing,
    Presence,
    conjunction,
    disjunction,
    negation,
)
from .names import Target
from .profiles.profile import Profile

_SET = {
    DataType.TEXT: Feature.TEXT_SET,
    DataType.NUMBER: Feature.NUMBER_SET,
    DataType.BOOLEAN: Feature.BOOLEAN_SET,
    DataType.DATE: Feature.DATE_SET,
    DataType.DATETIME: Feature.DATE_SET,
}
_OPPOSITE = {
    Operator.AT_MOST: Operator.GREATER,
    Operator.AT_LEAST: Operator.LESS,
}
_COMPARED_DATES = {
    DataType.DATE: Feature.DATE_COMPARISON,
    DataType.DATETIME: Feature.INSTANT_COMPARISON,
}
_ZERO = {DataType.NUMBER: 0, DataType.BOOLEAN: False}
"""The values that are set, but that many languages treat like a missing value."""
_BARE_TEXT = re.compile(r"[\w.@+-]+(?: [\w.@+-]+)*")
"""Texts that can't be confused with an operator, and that have no white space at the ends."""


@frozen
class Operand:
    """The code of a field, and the type that the condition gives to its values.

    `presence` contains the tests for a value that is set, if they differ from those of the type.
    """

    code: FieldCode
    data_type: DataType
    presence: Presence | None = None

    @property
    def is_state(self) -> bool:
        """Whether this is the number or the place of a round, which engines hold by its type."""
        return isinstance(self.code, DataCode) and self.code.path.is_state


def find_codes(condition: Condition, codes: CodeSource, target: Target) -> Mapping[str, FieldCode]:
    """Return the codes at the target, by the keys in the condition that mean a field there."""
    found = {key: codes.find(key, target) for key in dict.fromkeys(condition_keys(condition))}
    return {key: code for key, code in found.items() if code is not None}


def find_readings(
    condition: Condition,
    codes: Mapping[str, FieldCode],
    others: Mapping[str, Field] | None = None,
) -> Sequence[Mapping[str, Operand]]:
    """Return the operands by key, for each way to read the condition. The first one is preferred.

    A condition must fit the data type and the allowed values of the fields that its keys mean. In
    the place of a counterpart of a synced field, it can also fit the field that was written, so
    that a sync of the counterpart with another type does not make it invalid.

    `others` are the fields of other keys, for suggestions. They are not read if all keys are known.
    Raises: InvalidCondition if the condition fits neither.
    """
    if all(key in codes for key in condition_keys(condition)):
        others = None
    written = {key: code.field for key, code in codes.items()}
    meant = {key: code.meant_field for key, code in codes.items()}
    readings: list[Mapping[str, Operand]] = []
    invalid: InvalidCondition | None = None
    for fields in (meant, written) if meant != written else (written,):
        try:
            check_with_keys(condition, {**({} if others is None else others), **fields})
        except InvalidCondition as error:
            invalid = error
        else:
            readings.append(
                {key: Operand(codes[key], each.data_type) for key, each in fields.items()}
            )
    if invalid is not None and not readings:
        raise invalid
    return readings


@frozen
class _Term:
    """What a test contains for a field, and the tag that sets it, if it is a variable."""

    code: str
    assignment: str = ""


@frozen
class _DateCode:
    """The code of a date or an instant, and the forms of it that codes contain."""

    code: str
    forms: Mapping[str, str]


@define
class Translation:
    """The translation of one condition.

    It collects the caveats with their places, and the value expressions in use with their operands
    and places. A place is the position of a comparison. Comparisons of a tree that was not text
    have none.
    """

    profile: Profile
    operands: Mapping[str, Operand]
    caveats: dict[Caveat, dict[TextPosition, None]] = Factory(dict)
    expressions: dict[str, Operand] = Factory(dict)
    expression_places: dict[str, dict[TextPosition, None]] = Factory(dict)
    _position: TextPosition | None = None
    _language: ConditionLanguage = Factory(lambda self: self.profile.conditions, takes_self=True)

    def formula(self, condition: Condition) -> Formula:
        """Return the tests for the condition. Raises: NotExpressible if there are none."""
        match condition:
            case Not():
                return negation(self.formula(condition.condition))
            case AllOf():
                return conjunction(map(self.formula, condition.conditions))
            case AnyOf():
                return disjunction(map(self.formula, condition.conditions))
            case Comparison():
                self._position = condition.position
                return self._comparison(condition)
            case _:
                assert_never(condition)

    def warn(self, caveat: Caveat, places: Iterable[TextPosition]) -> None:
        """Add the caveat with these places."""
        self.caveats.setdefault(caveat, {}).update(dict.fromkeys(places))

    def _warn(self, caveat: Caveat | None) -> None:
        """Add the caveat of the current comparison, if there is one."""
        if caveat is not None:
            self._add_place(self.caveats.setdefault(caveat, {}))

    def _add_place(self, places: dict[TextPosition, None]) -> None:
        """Add the position of the current comparison, if it has one."""
        if self._position is not None:
            places[self._position] = None

    def _comparison(self, comparison: Comparison) -> Formula:
        operand = self.operands[comparison.key]
        try:
            value = self._read_dates(operand, comparison.value)
            return self._tests(operand, comparison.operator, value)
        except NotExpressible as refusal:
            message = f"{comparison.key}: {refusal}"
            raise NotExpressible(
                message, proposal=refusal.proposal, position=comparison.position
            ) from None

    def _read_dates(self, operand: Operand, value: object) -> object:
        """Return the value with the numbers or the code with which dates are compared."""
        feature = _COMPARED_DATES.get(operand.data_type)
        if value is None or feature is None:
            return value
        self._require(feature)
        form = self._language.readings[operand.data_type].date

        def read(value: object) -> object:
            return _as_number(value) if form is None else _as_code(value, form, self.profile.title)

        return tuple(map(read, value)) if isinstance(value, tuple) else read(value)

    def _tests(self, operand: Operand, operator: Operator, value: object) -> Formula:
        field = operand.code.counterpart or operand.code.field
        is_option = operand.data_type is DataType.TEXT and field.allowed_values is not None
        if is_option and value is not None:
            self._warn(self._language.option_caveat)
        match operator:
            case Operator.IS_SET:
                return self._set(operand)
            case Operator.IS_NOT_SET:
                return negation(self._set(operand))
            case Operator.IS_TRUE:
                return self._equal(operand, value=True)
            case Operator.EQUAL:
                return self._equal(operand, value=value)
            case Operator.NOT_EQUAL:
                return negation(self._equal(operand, value=value))
            case Operator.IN:
                values = value if isinstance(value, tuple) else ()
                return disjunction(self._equal(operand, value=each) for each in values)
            case Operator.CONTAINS:
                return self._contains(operand, value)
            case _:
                return self._ordered(operand, operator, value)

    def _set(self, operand: Operand) -> Formula:
        self._require(_SET[operand.data_type])
        if operand.presence is not None:
            return conjunction(
                self._test(self._term(operand), test) for test in operand.presence.tests
            )
        is_set = self._is_set(operand)
        if operand.data_type in _ZERO and self._language.number_is_set is None:
            return disjunction([is_set, self._zero(operand)])
        return is_set

    def _is_set(self, operand: Operand) -> Formula:
        """Return the tests for a value that is set. They can fail for 0 and false."""
        tests = self._language.is_set
        if operand.data_type in _ZERO and self._language.number_is_set is not None:
            tests = self._language.number_is_set
        return conjunction(self._test(self._term(operand), test) for test in tests)

    def _equal(self, operand: Operand, *, value: object) -> Formula:
        if isinstance(value, _DateCode):
            equal = self._test(self._reading(operand, value), self._language.equal, value.code)
            return self._guarded(operand, equal)
        literal = _write_literal(self.profile, value)
        if isinstance(value, str):
            self._require(Feature.TEXT_EQUALITY)
            if _is_number(value):
                self._warn(self._language.numeric_text_caveat)
            equal_texts = self._language.equal_texts or self._language.equal
            return self._test(self._term(operand), equal_texts, literal)
        if value is True:
            if operand.is_state:
                return self._test(self._term(operand), self._language.state)
            self._require(Feature.TRUE)
            return self._test(self._reading(operand), self._language.true)
        self._require(Feature.FALSE if value is False else Feature.NUMBER_EQUALITY)
        if self._language.equal_by_order and value is not False:
            bounds = (Operator.AT_LEAST, Operator.AT_MOST)
            return conjunction(self._in_order(operand, bound, value) for bound in bounds)
        if value == 0:
            return self._guarded_zero(operand)
        equal = self._test(self._reading(operand), self._language.equal, literal)
        return self._guarded(operand, equal) if self._language.guards_equality else equal

    def _guarded_zero(self, operand: Operand) -> Formula:
        """Return the test for 0 or false, with the guard that a missing value requires."""
        reads_missing_as_zero = (
            self._language.missing_number is Missing.IS_ZERO
            if operand.data_type is DataType.NUMBER
            else self._language.guards_false
        )
        if reads_missing_as_zero or self._language.guards_equality:
            return self._guarded(operand, self._zero(operand))
        return self._zero(operand)

    def _contains(self, operand: Operand, value: object) -> Formula:
        self._require(Feature.CONTAINS)
        literal = _write_literal(self.profile, value)
        contains = self._test(self._term(operand), self._language.contains, literal)
        return self._guarded(operand, contains) if self._language.guards_contains else contains

    def _ordered(self, operand: Operand, operator: Operator, value: object) -> Formula:
        if isinstance(value, _DateCode):
            order = self._order(self._reading(operand, value), operator, value.code)
            return self._guarded(operand, order)
        self._require(Feature.ORDER)
        return self._in_order(operand, operator, value)

    def _in_order(self, operand: Operand, operator: Operator, value: object) -> Formula:
        """Return the test of the order, with the guard that a missing value requires."""
        literal = _write_literal(self.profile, value)
        order = self._order(self._reading(operand), operator, literal)
        holds_for_zero = isinstance(value, int | float) and compare(
            Comparison(operand.code.field.key, operator, value), 0
        )
        match self._language.missing_number:
            case Missing.FAILS:
                return order
            case Missing.IS_ZERO if not holds_for_zero:
                return order
            case Missing.IS_ZERO_OR_FAILS if not holds_for_zero:
                is_set = self._is_set(operand)
                if isinstance(order, Atom) and isinstance(is_set, Atom):
                    order = evolve(order, implied=is_set.code)
                return conjunction([is_set, order])
        guarded = self._guarded(operand, order)
        if not holds_for_zero or self._language.number_is_set is not None:
            return guarded
        return disjunction([self._zero(operand), guarded])

    def _order(self, reading: _Term, operator: Operator, literal: str) -> Formula:
        if operator in self._language.order:
            return self._test(reading, self._language.order[operator], literal)
        return negation(self._order(reading, _OPPOSITE[operator], literal))

    def _zero(self, operand: Operand) -> Atom:
        """Return the test for 0 or false."""
        if operand.data_type is DataType.BOOLEAN and self._language.false is not None:
            return self._test(self._reading(operand), self._language.false)
        if operand.data_type is DataType.NUMBER:
            self._warn(self._language.zero_caveat)
        literal = _write_literal(self.profile, _ZERO[operand.data_type])
        if operand.data_type is DataType.NUMBER and self._language.zero is not None:
            literal = self._language.zero
        return self._test(self._reading(operand), self._language.equal, literal)

    def _guarded(self, operand: Operand, formula: Formula) -> Formula:
        return formula if operand.is_state else conjunction([self._is_set(operand), formula])

    def _require(self, feature: Feature) -> None:
        """Add the caveat of the feature. Raises: NotExpressible if the language lacks it."""
        reason = self._language.refused.get(feature)
        if reason is not None:
            raise NotExpressible(reason.format(title=self.profile.title))
        for caveat in self._language.caveats.get(feature, ()):
            self._warn(caveat)

    def _test(self, term: _Term, template: Atom, literal: str = "") -> Atom:
        slots = {"operand": term.code, "value": literal}
        opposite = template.opposite and template.opposite.format_map(slots)
        code = template.code.format_map(slots)
        return Atom(code, opposite, template.negated, term.assignment, template.implied)

    def _reading(self, operand: Operand, date: _DateCode | None = None) -> _Term:
        """Return the value as the language reads it before a comparison, perhaps with a date."""
        term = self._term(operand)
        reading = self._language.readings.get(operand.data_type)
        if reading is None or operand.is_state:
            return term
        forms = {} if date is None else date.forms
        expression = reading.expression.format(operand=term.code, **forms)
        if reading.variable is None:
            return _Term(expression)
        variable = reading.variable.format(key=operand.code.variable)
        return _Term(variable, assign(variable, expression))

    def _term(self, operand: Operand) -> _Term:
        """Return the value without a change."""
        try:
            expression = operand.code.require_value_expression()
        except NotInsertable as error:
            raise NotExpressible(str(error), proposal=error.proposal) from None
        is_data = isinstance(operand.code, DataCode)
        if not is_data and not is_reference(self.profile, expression):
            raise NotExpressible(
                f"the value expression is not a reference to a field of {self.profile.title}."
            )
        self.expressions[expression] = operand
        self._add_place(self.expression_places.setdefault(expression, {}))
        return _Term(expression)


def _as_number(value: object) -> object:
    """Return an instant in milliseconds since 1970, and a date as a number such as 20261120."""
    match value:
        case datetime():
            milliseconds = epoch_milliseconds(value)
            if milliseconds < 0:
                raise NotExpressible("Comparisons with an instant before 1970 are not supported.")
            return milliseconds
        case date():
            return value.year * 10_000 + value.month * 100 + value.day
    return value


def _as_code(value: object, form: str, title: str) -> object:
    """Return the code of a date, or of an instant in UTC."""
    match value:
        case datetime(microsecond=0):
            iso = format_instant(value).replace(".000", "")
        case datetime():
            raise NotExpressible(
                f"{title} compares instants in whole seconds. Write one without decimals."
            )
        case date():
            iso = value.isoformat()
        case _:
            return value
    forms = {"iso": iso, "digits": re.sub("[^0-9]", "", iso)}
    return _DateCode(form.format_map(forms), forms)


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _write_literal(profile: Profile, value: object) -> str:
    """Return the literal. Raises: NotExpressible if there is no safe one."""
    language = profile.conditions
    match value:
        case bool():
            return language.booleans[value]
        case int() | float():
            number = _number(value, decimal=language.decimal_literals)
            return f"'{number}'" if language.quotes_numbers else number
        case str() if language.quote is not None:
            return _quoted(profile, value, language.quote)
        case str() if _BARE_TEXT.fullmatch(value):
            return value
        case str():
            raise NotExpressible(f"{profile.title} has no safe way to write this text.")
    raise TypeError(f"not a text, a number or a boolean: {value!r}")


def _quoted(profile: Profile, text: str, quote: str) -> str:
    try:
        return string_literal(profile, text, quote)
    except NoSafeForm as error:
        raise NotExpressible(str(error)) from None


def _number(value: float, *, decimal: bool) -> str:
    """Return the number without an exponent: 3, or 3.0 if it must be a decimal."""
    number = format(Decimal(repr(value)), "f")
    return f"{number}.0" if decimal and "." not in number else number
