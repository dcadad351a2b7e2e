"""The translation of comparisons into tests.

Guards ensure that a missing value, 0 and false have the meaning that `evaluate` defines.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from operator import ge, gt, le, lt
from typing import assert_never

from attrs import Factory, evolve, frozen

from ...conditions import AllOf, AnyOf, Comparison, Condition, Not, Operator, TextPosition
from ...fields.values import DataType
from ..derived_codes import is_reference
from ..dialects import DIALECTS, Esp
from ..errors import NotExpressible, NotInsertable
from .code_parts import Caveat, Feature, Language
from .formulas import Atom, Formula, conjunction, disjunction, negation
from .literals import write_literal
from .operands import Operand

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
class Translation:
    """The translation of one condition.

    It collects the caveats with their places, and the value expressions in use with their operands
    and places. A place is the position of a comparison. Comparisons of a tree that was not text
    have none.
    """

    esp: Esp
    language: Language
    operands: Mapping[str, Operand]
    caveats: dict[Caveat, dict[TextPosition, None]] = Factory(dict)
    expressions: dict[str, Operand] = Factory(dict)
    expression_places: dict[str, dict[TextPosition, None]] = Factory(dict)
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
        operand = self.operands[comparison.key]
        try:
            return self._tests(operand, comparison.operator, comparison.value)
        except NotExpressible as refusal:
            raise NotExpressible(f"{comparison.key}: {refusal}") from None

    def _tests(self, operand: Operand, operator: Operator, value: object) -> Formula:
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
        present = self._test(operand, self.language.present)
        if operand.data_type in _ZERO:
            if self.language.zero_is_present:
                return present
            return disjunction([present, self._zero(operand)])
        if self.language.empty is None:
            return present
        return conjunction([present, negation(self._test(operand, self.language.empty))])

    def _equal(self, operand: Operand, *, value: object) -> Formula:
        literal = write_literal(self.esp, self.language, value)
        if isinstance(value, str):
            self._require(Feature.TEXT_EQUALITY)
            if _is_number(value):
                self._warn(self.language.numeric_text_caveat)
            return self._test(operand, self.language.equal, literal)
        if value is True:
            self._require(Feature.TRUE)
            return self._test(operand, self.language.true)
        self._require(Feature.FALSE if value is False else Feature.NUMBER_EQUALITY)
        equal = self._test(operand, self.language.equal, literal)
        if value == 0:
            equal = self._zero(operand)
        return self._guarded(operand, equal) if self.language.guards_equality else equal

    def _contains(self, operand: Operand, value: object) -> Formula:
        self._require(Feature.CONTAINS)
        literal = write_literal(self.esp, self.language, value)
        contains = self._test(operand, Atom(self.language.contains), literal)
        return self._guarded(operand, contains) if self.language.guards_contains else contains

    def _ordered(self, operand: Operand, operator: Operator, value: object) -> Formula:
        literal = write_literal(self.esp, self.language, value)
        self._require(Feature.ORDER)
        order = self._order(operand, operator, literal)
        if not self.language.guards_order:
            return order
        guarded = self._guarded(operand, order)
        if not (isinstance(value, int | float) and _COMPARE[operator](0, value)):
            return guarded
        zero = self._zero(operand)
        return guarded if self.language.zero_is_present else disjunction([zero, guarded])

    def _order(self, operand: Operand, operator: Operator, literal: str) -> Formula:
        if operator in self.language.order:
            return self._test(operand, Atom(self.language.order[operator]), literal)
        return negation(self._order(operand, _OPPOSITE[operator], literal))

    def _zero(self, operand: Operand) -> Atom:
        """Return the test for 0 or false."""
        self._warn(self.language.zero_caveat)
        literal = write_literal(self.esp, self.language, _ZERO[operand.data_type])
        return self._test(operand, self.language.equal, literal)

    def _guarded(self, operand: Operand, formula: Formula) -> Formula:
        return conjunction([self._test(operand, self.language.present), formula])

    def _require(self, feature: Feature) -> None:
        """Add the caveat of the feature. Raises: NotExpressible if the language lacks it."""
        reason = self.language.refused.get(feature)
        if reason is not None:
            raise NotExpressible(reason.format(title=self._title))
        self._warn(self.language.caveats.get(feature))

    def _test(self, operand: Operand, template: Atom, literal: str = "") -> Atom:
        slots = {"operand": self._expression(operand), "value": literal}
        opposite = template.opposite and template.opposite.format_map(slots)
        return evolve(template, code=template.code.format_map(slots), opposite=opposite)

    def _expression(self, operand: Operand) -> str:
        try:
            expression = operand.code.require_value_expression()
        except NotInsertable as error:
            raise NotExpressible(str(error)) from None
        if not is_reference(self.esp, expression):
            raise NotExpressible(
                f"the value expression is not a reference to a field of {self._title}."
            )
        self.expressions[expression] = operand
        self.expression_places.setdefault(expression, {}).update(dict.fromkeys(self._places))
        return expression


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True
