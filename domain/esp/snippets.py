"""From an ESP's name of a field to what is written into an email."""

from __future__ import annotations

import re
from collections.abc import Iterable

from attrs import frozen

from ..errors import Rule, Violation, Violations
from ..text import LONGEST_LINE, line_violation
from ..values import DataType, InsertionCode, ValueExpression
from .dialects import DIALECTS, Dialect, Esp, Form, Quoting
from .errors import NoSafeForm


@frozen
class Snippet:
    """What inserts a field, what refers to its value, and what must stand once before both."""

    insertion_code: InsertionCode
    value_expression: ValueExpression
    prelude: str | None = None


@frozen
class VariableClash:
    """Names of different fields that one variable would stand for, in their given order."""

    variable: str
    names: tuple[str, ...]


def derive_snippet(
    esp: Esp,
    name: str,
    *,
    data_type: DataType = DataType.TEXT,
    standard: bool = False,
    default: str | None = None,
) -> Snippet:
    """How the ESP's dialect writes the field of that name.

    `standard` tells one of the ESP's own fields from a custom one. `default` stands in for a
    missing value. NoSafeForm with every violation, at `name` or `default`.
    """
    dialect = DIALECTS[esp]
    slots = {"NAME": name, "VARIABLE": _variable(name), "DEFAULT": default or ""}
    violations = Violations()
    with violations.under("name"):
        form = _form(dialect, name, standard=standard)
        slots["EXPRESSION"] = _filled(dialect, form.expression, slots)
        prelude = dialect.prelude and _filled(dialect, dialect.prelude, slots)
    with violations.under("default"):
        if default is not None:
            _require_safe_default(dialect, default, data_type)
        template = dialect.insertion if default is None else dialect.insertion_with_default
        code = _filled(dialect, template, {"EXPRESSION": "", **slots})
    if violations:
        raise NoSafeForm(violations)
    return Snippet(InsertionCode(code), ValueExpression(slots["EXPRESSION"]), prelude)


def variable_clashes(esp: Esp, names: Iterable[str]) -> tuple[VariableClash, ...]:
    """The names that fall on one variable, by its first spelling; none where the ESP has none.

    Salesforce does not tell variables apart by case. Names without a safe form are left out.
    """
    if DIALECTS[esp].prelude is None:
        return ()
    spellings: dict[str, str] = {}
    sharing: dict[str, dict[str, None]] = {}
    for name in names:
        try:
            snippet = derive_snippet(esp, name)
        except NoSafeForm:
            continue
        variable = snippet.value_expression
        spelling = spellings.setdefault(variable.lower(), variable)
        sharing.setdefault(spelling, {})[name] = None
    return tuple(
        VariableClash(variable, tuple(group))
        for variable, group in sharing.items()
        if len(group) > 1
    )


def _variable(name: str) -> str:
    return re.sub(r"[^A-Za-z0-9_]+", "_", name)


def _form(dialect: Dialect, name: str, *, standard: bool) -> Form:
    """The dialect's form for a name; NoSafeForm where there is none."""
    _require(_text_violation(dialect, name))
    if name != name.strip():
        _require(Violation(Rule.FORMAT, "Remove the white space at the ends."))
    own = standard and bool(dialect.standard)
    if not dialect.reserved.isdisjoint(name.split(".")):
        _require(Violation(Rule.RESERVED, f"{dialect.title} reads this name as code of its own."))
    for form in dialect.standard if own else dialect.forms:
        if re.fullmatch(form.names, name):
            return form
    sentence = dialect.standard_names if own else dialect.names
    raise NoSafeForm([Violation(Rule.FORMAT, sentence)])


def _require_safe_default(dialect: Dialect, default: str, data_type: DataType) -> None:
    _require(_text_violation(dialect, default, *_neighbours(dialect)))
    shown = dialect.also_replaced.get(data_type, default)
    if default != shown:
        _require(
            Violation(
                Rule.NOT_APPLICABLE,
                f"{dialect.title} shows the default of a {data_type.value} field in place of"
                f" {shown} too, which is not a missing value. Only {shown} can be the default.",
            )
        )


def _text_violation(
    dialect: Dialect, text: str, before: str = "", after: str = ""
) -> Violation | None:
    """What makes a text unfit for the dialect: delimiters, also those its neighbours complete."""
    if any(
        (before + text + after).count(d) > (before + after).count(d) for d in dialect.delimiters
    ):
        delimiters = " or ".join(dialect.delimiters)
        return Violation(
            Rule.INVALID_CHARACTERS, f"{dialect.title} has no safe way to write {delimiters} here."
        )
    return line_violation(text, longest=LONGEST_LINE)


def _neighbours(dialect: Dialect) -> tuple[str, str]:
    before, after = dialect.insertion_with_default.split("DEFAULT")
    return before[-1], after[0]


_SLOT = re.compile(
    r"""(?P<quote>["'])(?P<before>[^"']*?)(?P<quoted>NAME|EXPRESSION|DEFAULT)(?P=quote)"""
    r"""|(?P<bare>NAME|VARIABLE|EXPRESSION|DEFAULT)"""
)


def _filled(dialect: Dialect, template: str, slots: dict[str, str]) -> str:
    def fill(slot: re.Match[str]) -> str:
        if slot["bare"]:
            return slots[slot["bare"]]
        return _literal(dialect, slot["before"] + slots[slot["quoted"]], slot["quote"])

    return _SLOT.sub(fill, template)


def _literal(dialect: Dialect, text: str, quote: str) -> str:
    """The text as a string literal; NoSafeForm where its quotes have no safe form."""
    if quote in text and dialect.quoting is Quoting.DOUBLED:
        text = text.replace(quote, quote * 2)
    elif quote in text:
        quote, used = {'"': "'", "'": '"'}[quote], quote
        if dialect.quoting is Quoting.NONE or quote in text:
            both = "" if dialect.quoting is Quoting.NONE else f" beside {quote}"
            _require(
                Violation(
                    Rule.INVALID_CHARACTERS,
                    f"{dialect.title} has no safe way to write {used}{both} here.",
                )
            )
    return f"{quote}{text}{quote}"


def _require(violation: Violation | None) -> None:
    if violation is not None:
        raise NoSafeForm([violation])
