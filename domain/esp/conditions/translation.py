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
from .code_parts import Caveat, Feature, Language
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
        is_option = field.data_type is DataType.TEXT and field.allowed_values is not None
        if is_option and value is not None:
            self._warn(self.language.option_caveat)
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
        present = self._test(field, self.language.present)
        if field.data_type in _ZERO:
            if self.language.zero_is_present:
                return present
            return disjunction([present, self._zero(field)])
        if self.language.empty is None:
            return present
        return conjunction([present, negation(self._test(field, self.language.empty))])

    def _equal(self, field: RecipientField, *, value: object) -> Formula:
        literal = write_literal(self.esp, self.language, value)
        if isinstance(value, str):
            self._require(Feature.TEXT_EQUALITY)
            if _is_number(value):
                self._warn(self.language.numeric_text_caveat)
            return self._test(field, self.language.equal, literal)
        if value is True:
            self._require(Feature.TRUE)
            return self._test(field, self.language.true)
        self._require(Feature.FALSE if value is False else Feature.NUMBER_EQUALITY)
        equal = self._test(field, self.language.equal, literal)
        if value == 0:
            equal = self._zero(field)
        return self._guarded(field, equal) if self.language.guards_equality else equal

    def _contains(self, field: RecipientField, value: object) -> Formula:
        self._require(Feature.CONTAINS)
        literal = write_literal(self.esp, self.language, value)
        contains = self._test(field, Atom(self.language.contains), literal)
        return self._guarded(field, contains) if self.language.guards_contains else contains

    def _ordered(self, field: RecipientField, operator: Operator, value: object) -> Formula:
        literal = write_literal(self.esp, self.language, value)
        self._require(Feature.ORDER)
        order = self._order(field, operator, literal)
        if not self.language.guards_order:
            return order
        guarded = self._guarded(field, order)
        if not (isinstance(value, int | float) and _COMPARE[operator](0, value)):
            return guarded
        zero = self._zero(field)
        return guarded if self.language.zero_is_present else disjunction([zero, guarded])

    def _order(self, field: RecipientField, operator: Operator, literal: str) -> Formula:
        if operator in self.language.order:
            return self._test(field, Atom(self.language.order[operator]), literal)
        return negation(self._order(field, _OPPOSITE[operator], literal))

    def _zero(self, field: RecipientField) -> Atom:
        """Return the test for 0 or false."""
        self._warn(self.language.zero_caveat)
        literal = write_literal(self.esp, self.language, _ZERO[field.data_type])
        return self._test(field, self.language.equal, literal)

    def _guarded(self, field: RecipientField, formula: Formula) -> Formula:
        return conjunction([self._test(field, self.language.present), formula])

    def _require(self, feature: Feature) -> None:
        """Add the caveat of the feature. Raises: NotExpressible if the language lacks it."""
        reason = self.language.refused.get(feature)
        if reason is not None:
            raise NotExpressible(reason.format(title=self._title))
        self._warn(self.language.caveats.get(feature))

    def _test(self, field: RecipientField, template: Atom, literal: str = "") -> Atom:
        slots = {"operand": self._operand(field), "value": literal}
        opposite = template.opposite and template.opposite.format_map(slots)
        return evolve(template, code=template.code.format_map(slots), opposite=opposite)

    def _operand(self, field: RecipientField) -> str:
        expression = field.custom_value_expression
        if expression is None:
            raise NotExpressible(f"this field {missing_member(field, 'value expression')}")
        if not is_reference(self.esp, expression):
            raise NotExpressible(
                f"the value expression is not a reference to a field of {self._title}."
            )
        self.operands[expression] = field
        self.operand_places.setdefault(expression, {}).update(dict.fromkeys(self._places))
        return expression


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True
