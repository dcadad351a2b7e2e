"""The translation of comparisons into tests.

Guards ensure that a missing value, 0 and false have the meaning that `evaluate` defines.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from operator import ge, gt, le, lt
from typing import assert_never

from attrs import Factory, evolve, frozen

from ...conditions import AllOf, AnyOf, Comparison, Condition, Not, Operator, TextPosition
from ...fields.field import RecipientField
from ...fields.values import DataType
from ..checks import missing_member
from ..derived_codes import is_reference
from ..dialects import DIALECTS, Esp
from ..errors import NotExpressible
from .code_parts import Caveat, Feature, Language, Missing
from .flags import assign
from .formulas import Atom, Formula, conjunction, disjunction, negation
from .literals import write_literal

_SET = {
    DataType.TEXT: Feature.TEXT_SET,
    DataType.NUMBER: Feature.NUMBER_SET,
    DataType.BOOLEAN: Feature.BOOLEAN_SET,
    DataType.DATE: Feature.DATE_SET,
    DataType.DATETIME: Feature.DATE_SET,
}
_COMPARE: Mapping[Operator, Callable[[float, float], bool]] = {
    Operator.LESS: lt,
    Operator.AT_MOST: le,
    Operator.GREATER: gt,
    Operator.AT_LEAST: ge,
}
_OPPOSITE = {
    Operator.AT_MOST: Operator.GREATER,
    Operator.AT_LEAST: Operator.LESS,
}
_ZERO = {DataType.NUMBER: 0, DataType.BOOLEAN: False}
"""The values that are set, but that many languages treat like a missing value."""


@frozen
class _Operand:
    """The operand of a test, and the tag that sets it, if it is a variable."""

    code: str
    assignment: str = ""


@frozen
class Translation:
    """The translation of one condition.

    It collects the caveats with their places, and the operands with their fields and places. A
    place is the position of a comparison. Comparisons of a tree that was not text have none.
    """

    esp: Esp
    language: Language
    fields: Mapping[str, RecipientField]
    caveats: dict[Caveat, dict[TextPosition, None]] = Factory(dict)
    operands: dict[str, RecipientField] = Factory(dict)
    operand_places: dict[str, dict[TextPosition, None]] = Factory(dict)
    _position: TextPosition | None = None

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
                return evolve(self, position=condition.position)._comparison(condition)
            case _:
                assert_never(condition)

    def warn(self, caveat: Caveat, places: Iterable[TextPosition]) -> None:
        """Add the caveat with these places."""
        self.caveats.setdefault(caveat, {}).update(dict.fromkeys(places))

    def _warn(self, caveat: Caveat | None) -> None:
        """Add the caveat of the current comparison, if there is one."""
        if caveat is not None:
            self.warn(caveat, self._places)

    @property
    def _places(self) -> tuple[TextPosition, ...]:
        return () if self._position is None else (self._position,)

    @property
    def _title(self) -> str:
        return DIALECTS[self.esp].title

    def _comparison(self, comparison: Comparison) -> Formula:
        field = self.fields[comparison.key]
        try:
            return self._tests(field, comparison.operator, comparison.value)
        except NotExpressible as refusal:
            raise NotExpressible(f"{field.key}: {refusal}") from None

    def _tests(self, field: RecipientField, operator: Operator, value: object) -> Formula:
        match operator:
            case Operator.IS_SET:
                return self._set(field)
            case Operator.IS_NOT_SET:
                return negation(self._set(field))
            case Operator.IS_TRUE:
                return self._equal(field, value=True)
            case Operator.EQUAL:
                return self._equal(field, value=value)
            case Operator.NOT_EQUAL:
                return negation(self._equal(field, value=value))
            case Operator.IN:
                values = value if isinstance(value, tuple) else ()
                return disjunction(self._equal(field, value=each) for each in values)
            case Operator.CONTAINS:
                return self._contains(field, value)
            case _:
                return self._ordered(field, operator, value)

    def _set(self, field: RecipientField) -> Formula:
        self._require(_SET[field.data_type])
        is_set = self._is_set(field)
        if field.data_type in _ZERO and self.language.number_is_set is None:
            return disjunction([is_set, self._zero(field)])
        return is_set

    def _is_set(self, field: RecipientField) -> Formula:
        """Return the tests for a value that is set. They can fail for 0 and false."""
        tests = self.language.is_set
        if field.data_type in _ZERO and self.language.number_is_set is not None:
            tests = self.language.number_is_set
        return conjunction(self._test(self._operand(field), test) for test in tests)

    def _equal(self, field: RecipientField, *, value: object) -> Formula:
        literal = write_literal(self.esp, self.language, value)
        if isinstance(value, str):
            self._require(Feature.TEXT_EQUALITY)
            if _is_number(value):
                self._warn(self.language.numeric_text_caveat)
            return self._test(self._operand(field), self.language.equal, literal)
        if value is True:
            self._require(Feature.TRUE)
            return self._test(self._reading(field), self.language.true)
        self._require(Feature.FALSE if value is False else Feature.NUMBER_EQUALITY)
        if self.language.equal_by_order and value is not False:
            bounds = (Operator.AT_LEAST, Operator.AT_MOST)
            return conjunction(self._in_order(field, bound, value) for bound in bounds)
        if value == 0:
            return self._guarded_zero(field)
        equal = self._test(self._reading(field), self.language.equal, literal)
        return self._guarded(field, equal) if self.language.guards_equality else equal

    def _guarded_zero(self, field: RecipientField) -> Formula:
        """Return the test for 0 or false, with the guard that a missing value requires."""
        reads_missing_as_zero = (
            field.data_type is DataType.NUMBER and self.language.missing_number is Missing.IS_ZERO
        )
        if reads_missing_as_zero or self.language.guards_equality:
            return self._guarded(field, self._zero(field))
        return self._zero(field)

    def _contains(self, field: RecipientField, value: object) -> Formula:
        self._require(Feature.CONTAINS)
        literal = write_literal(self.esp, self.language, value)
        contains = self._test(self._operand(field), self.language.contains, literal)
        return self._guarded(field, contains) if self.language.guards_contains else contains

    def _ordered(self, field: RecipientField, operator: Operator, value: object) -> Formula:
        self._require(Feature.ORDER)
        return self._in_order(field, operator, value)

    def _in_order(self, field: RecipientField, operator: Operator, value: object) -> Formula:
        """Return the test of the order, with the guard that a missing value requires."""
        literal = write_literal(self.esp, self.language, value)
        order = self._order(field, operator, literal)
        holds_for_zero = isinstance(value, int | float) and _COMPARE[operator](0, value)
        match self.language.missing_number:
            case Missing.FAILS:
                return order
            case Missing.IS_ZERO if not holds_for_zero:
                return order
            case Missing.IS_ZERO_OR_FAILS if not holds_for_zero:
                is_set = self._is_set(field)
                if isinstance(order, Atom) and isinstance(is_set, Atom):
                    order = evolve(order, implied=is_set.code)
                return conjunction([is_set, order])
        guarded = self._guarded(field, order)
        if not holds_for_zero or self.language.number_is_set is not None:
            return guarded
        return disjunction([self._zero(field), guarded])

    def _order(self, field: RecipientField, operator: Operator, literal: str) -> Formula:
        if operator in self.language.order:
            return self._test(self._reading(field), self.language.order[operator], literal)
        return negation(self._order(field, _OPPOSITE[operator], literal))

    def _zero(self, field: RecipientField) -> Atom:
        """Return the test for 0 or false."""
        if field.data_type is DataType.NUMBER:
            self._warn(self.language.zero_caveat)
        literal = write_literal(self.esp, self.language, _ZERO[field.data_type])
        if field.data_type is DataType.NUMBER and self.language.zero is not None:
            literal = self.language.zero
        return self._test(self._reading(field), self.language.equal, literal)

    def _guarded(self, field: RecipientField, formula: Formula) -> Formula:
        return conjunction([self._is_set(field), formula])

    def _require(self, feature: Feature) -> None:
        """Add the caveat of the feature. Raises: NotExpressible if the language lacks it."""
        reason = self.language.refused.get(feature)
        if reason is not None:
            raise NotExpressible(reason.format(title=self._title))
        for caveat in self.language.caveats.get(feature, ()):
            self._warn(caveat)

    def _test(self, operand: _Operand, template: Atom, literal: str = "") -> Atom:
        slots = {"operand": operand.code, "value": literal}
        opposite = template.opposite and template.opposite.format_map(slots)
        code = template.code.format_map(slots)
        return evolve(template, code=code, opposite=opposite, assignment=operand.assignment)

    def _reading(self, field: RecipientField) -> _Operand:
        """Return the operand as the language reads it before a comparison."""
        operand = self._operand(field)
        reading = self.language.readings.get(field.data_type)
        if reading is None:
            return operand
        expression = reading.expression.format(operand=operand.code)
        if reading.variable is None:
            return _Operand(expression)
        variable = reading.variable.format(key=field.key)
        return _Operand(variable, assign(variable, expression))

    def _operand(self, field: RecipientField) -> _Operand:
        expression = field.custom_value_expression
        if expression is None:
            raise NotExpressible(f"this field {missing_member(field, 'value expression')}")
        if not is_reference(self.esp, expression):
            raise NotExpressible(
                f"the value expression is not a reference to a field of {self._title}."
            )
        self.operands[expression] = field
        self.operand_places.setdefault(expression, {}).update(dict.fromkeys(self._places))
        return _Operand(expression)


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True
