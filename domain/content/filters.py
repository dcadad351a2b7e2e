"""The filters of references, such as `{{recipient.city | upper}}`, and their meaning.

A filter changes the value of a field. The preview shows the results of these functions, and the
export uses only code that means the same.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from datetime import date
from decimal import ROUND_HALF_UP, Context, Decimal
from typing import Any, cast
from urllib.parse import quote

from attrs import frozen

from ..choices import Choice
from ..conditions import Value
from ..errors import Rule, Violation
from ..fields.values import DataType
from ..suggestions import closest_match


class FilterName(Choice):
    """The filters."""

    UPPER = "upper"
    LOWER = "lower"
    TITLE = "title"
    TRUNCATE = "truncate"
    URL = "url"
    NUMBER = "number"
    DATE = "date"
    PLUS = "plus"
    MINUS = "minus"
    TIMES = "times"
    FIRST = "first"
    JOIN = "join"


DATE_STYLES: Mapping[str, str] = {
    "long": "%-d %B %Y",
    "medium": "%-d %b %Y",
    "short": "%d/%m/%Y",
    "us": "%m/%d/%Y",
    "iso": "%Y-%m-%d",
    "year": "%Y",
    "month": "%B",
    "weekday": "%A",
}
"""The formats of the filter `date` that have a name."""
_STYLE_NAMES = {format_: name for name, format_ in DATE_STYLES.items()}


@frozen
class Filter:
    """A filter of a reference.

    `argument` is the number of characters of `truncate` (1 to 1,000), the number of decimals of
    `number` (0 to 4), the format of `date`, the number of `plus`, `minus` and `times`, or the text
    of `join`. Other filters have none.
    """

    name: FilterName
    argument: float | str | None = None

    def __str__(self) -> str:
        """Return the filter as it is written: `truncate: 20`."""
        match self.argument:
            case None:
                return self.name.value
            case str() as text:
                return f'{self.name.value}: "{_STYLE_NAMES.get(text, text)}"'
        return f"{self.name.value}: {self.argument}"


_MONTHS = (
    *("January", "February", "March", "April", "May", "June", "July", "August", "September"),
    *("October", "November", "December"),
)
_WEEKDAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")

DATE_PARTS: Mapping[str, Callable[[date], str]] = {
    "%d": lambda day: f"{day.day:02}",
    "%-d": lambda day: str(day.day),
    "%m": lambda day: f"{day.month:02}",
    "%-m": lambda day: str(day.month),
    "%b": lambda day: _MONTHS[day.month - 1][:3],
    "%B": lambda day: _MONTHS[day.month - 1],
    "%y": lambda day: f"{day.year % 100:02}",
    "%Y": lambda day: f"{day.year:04}",
    "%a": lambda day: _WEEKDAYS[day.weekday()][:3],
    "%A": lambda day: _WEEKDAYS[day.weekday()],
}
"""The parts of the formats of `date`, which are those of `strftime`, in English."""
DATE_PART = re.compile("%-?[A-Za-z]")
_DATE_FORMAT = re.compile(rf"(?=[^%]*%(?!-[dm]\Z))(?:{'|'.join(DATE_PARTS)}|[ ,./:-]){{1,40}}")
"""One number alone, as in `%-d`, is excluded: in .NET, one letter is another format."""
_DECIMALS = Context(prec=60, rounding=ROUND_HALF_UP)


def _title(text: str) -> str:
    """Return the text with a capital at the beginning of each word.

    A letter after `'` is a capital only if a capital is before it, and one after a digit never.
    These are the rules of Django.
    """
    text = re.sub(r"([a-z])'([A-Z])", lambda match: match[0].lower(), text.title())
    return re.sub(r"\d([A-Z])", lambda match: match[0].lower(), text)


def _truncate(text: str, length: int) -> str:
    return text if len(text) <= length else f"{text[: length - 1]}…"


def _format_number(number: float, decimals: int) -> str:
    """Return the number with these decimals. Halves are rounded away from zero."""
    exact = Decimal(str(number))
    rounded = _DECIMALS.quantize(exact, Decimal(1).scaleb(-decimals))
    return f"{abs(rounded) if rounded.is_zero() else rounded:f}"


def _format_date(value: date, format_: str) -> str:
    """Return the date, or that of an instant, which is in UTC."""
    return DATE_PART.sub(lambda part: DATE_PARTS[part[0]](value), format_)


def _calculate(operate: Callable[[Decimal, Decimal], Decimal]) -> Callable[[float, float], float]:
    """Return the operation on numbers as they are written: 0.1 plus 0.2 is 0.3."""

    def apply(number: float, other: float) -> float:
        result = operate(Decimal(str(number)), Decimal(str(other)))
        return int(result) if result == result.to_integral() else float(result)

    return apply


@frozen
class _Rule:
    """What a filter accepts, and what it does. `example` is how it is written.

    If `reads_list` is true, it accepts a list of values of its input types. `output` is the type of
    the result.
    """

    example: str
    inputs: tuple[DataType, ...]
    apply: Callable[..., Value]
    arguments: range | type[float] | re.Pattern[str] | None = None
    reads_list: bool = False
    output: DataType = DataType.TEXT


_TEXT = (DataType.TEXT,)
_SEPARATOR = re.compile(r"""[^"'\\{}%<>&|*$@`\[\]\r\n]{1,10}""")
"""A text that has no other meaning in the code of an ESP, or in HTML."""


def _arithmetic(name: str, operate: Callable[[Decimal, Decimal], Decimal]) -> _Rule:
    numbers = (DataType.NUMBER,)
    return _Rule(f"{name}: 1", numbers, _calculate(operate), float, output=DataType.NUMBER)


_RULES: Mapping[FilterName, _Rule] = {
    FilterName.UPPER: _Rule("upper", _TEXT, str.upper),
    FilterName.LOWER: _Rule("lower", _TEXT, str.lower),
    FilterName.TITLE: _Rule("title", _TEXT, _title),
    FilterName.TRUNCATE: _Rule("truncate: 20", _TEXT, _truncate, range(1, 1_001)),
    FilterName.URL: _Rule("url", _TEXT, lambda text: quote(text, safe="", errors="replace")),
    FilterName.NUMBER: _Rule("number: 2", (DataType.NUMBER,), _format_number, range(5)),
    FilterName.DATE: _Rule(
        'date: "long"', (DataType.DATE, DataType.DATETIME), _format_date, _DATE_FORMAT
    ),
    FilterName.PLUS: _arithmetic("plus", Decimal.__add__),
    FilterName.MINUS: _arithmetic("minus", Decimal.__sub__),
    FilterName.TIMES: _arithmetic("times", Decimal.__mul__),
    FilterName.FIRST: _Rule("first", _TEXT, lambda items: next(iter(items), ""), reads_list=True),
    FilterName.JOIN: _Rule(
        'join: ", "', _TEXT, lambda items, text: text.join(items), _SEPARATOR, reads_list=True
    ),
}
_NO_DATE_FORMAT = (
    f"Use one of the styles {', '.join(DATE_STYLES)}, or a format of {' '.join(DATE_PARTS)} and"
    " marks such as `/`."
)
_OTHER_NAMES = {
    **dict.fromkeys(("upcase", "uppercase"), "upper"),
    **dict.fromkeys(("downcase", "lowercase"), "lower"),
    **dict.fromkeys(("capitalize", "titlecase", "propercase"), "title"),
    **dict.fromkeys(("truncatechars", "abbreviate"), "truncate"),
    **dict.fromkeys(("urlencode", "url_encode"), "url"),
    **dict.fromkeys(("floatformat", "round"), "number"),
}
"""The names of filters in the languages of ESPs."""


def parse_filter(name: str, argument: float | str | None) -> Filter | Violation:
    """Return the filter with this name and argument, or why there is none."""
    try:
        known = FilterName(name)
    except ValueError:
        names = ("default", "expression", *(each.value for each in FilterName))
        suggestion = _OTHER_NAMES.get(name) or closest_match(name, names)
        message = f"Use one of the filters {', '.join(names)}."
        return Violation(Rule.UNKNOWN_VALUE, message, suggestion=suggestion)
    rule = _RULES[known]
    match rule.arguments, argument:
        case None, None:
            return Filter(known)
        case type() as float_, int() | float() if float_ is float:
            return Filter(known, argument)
        case re.Pattern() as pattern, str() as text:
            is_date = known is FilterName.DATE
            written = DATE_STYLES.get(text, text) if is_date else text
            if pattern.fullmatch(written) is not None:
                return Filter(known, written)
            if is_date:
                suggestion = closest_match(text, DATE_STYLES)
                return Violation(Rule.UNKNOWN_VALUE, _NO_DATE_FORMAT, suggestion=suggestion)
            message = f"Write 1 to 10 characters after `{name}:`, without quotes and marks of code."
            return Violation(Rule.FORMAT, message)
        case range() as numbers, int() | float():
            if argument in numbers:
                return Filter(known, argument)
            message = f"Write a number from {numbers[0]} to {numbers[-1]:,} after `{name}:`."
            return Violation(Rule.OUT_OF_RANGE, message)
    return Violation(Rule.FORMAT, f"Write this filter as `| {rule.example}`.")


def find_type_error(
    filters: Sequence[Filter], data_type: DataType, *, is_data: bool = False
) -> str | None:
    """Return why a field of this type, or data, can't have these filters, or None if it can."""
    if FilterName.NUMBER in [each.name for each in filters[:-1]]:
        return "The filter `number` must be the last one."
    for index, each in enumerate(filters):
        if _RULES[each.name].reads_list and (index or not is_data):
            return f"The filter `{each.name.value}` must be the first one, and requires event data."
        inputs = _RULES[each.name].inputs
        if data_type not in inputs:
            expected = " or ".join(input_.value for input_ in inputs)
            subject = f"the result of `{filters[index - 1].name.value}`" if index else "this field"
            return (
                f"The filter `{each.name.value}` requires a {expected}, but {subject} is a"
                f" {data_type.value}."
            )
        data_type = _RULES[each.name].output
    if filters and not shows_text(filters):
        name = filters[-1].name.value
        return f"Write `number` after `{name}`: ESPs show other numbers differently."
    return None


def shows_text(filters: Sequence[Filter]) -> bool:
    """Return whether the last of the filters writes a text, which each ESP shows as it is."""
    return _RULES[filters[-1].name].output is DataType.TEXT


def input_types(filters: Sequence[Filter]) -> tuple[DataType, ...]:
    """Return the types that the first of the filters accepts."""
    return _RULES[filters[0].name].inputs


def reads_list(filters: Sequence[Filter]) -> bool:
    """Return whether the first of the filters reads a list of texts."""
    return _RULES[filters[0].name].reads_list


def apply_filters(value: Value | Sequence[str], filters: Sequence[Filter]) -> Value:
    """Return what a reader sees for the value. The value has a type that the filters accept."""
    result: Any = value
    for each in filters:
        arguments = () if each.argument is None else (each.argument,)
        result = _RULES[each.name].apply(result, *arguments)
    return cast(Value, result)
