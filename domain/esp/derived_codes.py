"""The insertion code and the value expression of a field, derived from its name at an ESP."""

from __future__ import annotations

import re
from collections.abc import Iterable
from contextlib import suppress
from functools import cache, lru_cache
from unicodedata import category
from unicodedata import name as unicode_name

from attrs import frozen

from ..arguments import require_type
from ..errors import Rule, Violation, Violations
from ..fields.values import DataType, InsertionCode, ValueExpression
from ..text import MAX_LINE_LENGTH, control_character_violation, line_violation
from .errors import NoSafeForm
from .names import Esp
from .profiles import BUILT_IN, Profiles
from .profiles.profile import WORD, Form, Profile, Quoting, ValueForm

__all__ = ["derive_codes"]

_ESCAPED = re.compile("[&<>\"'`=]")
"""The characters that Handlebars escapes."""
_REMEMBERED = 1_024
"""The number of codes that are remembered: an export derives those of a field several times."""


@frozen
class DerivedCodes:
    """The code that inserts a field, and the expression for its value.

    `prelude` is code that must precede both, once per email.
    """

    insertion_code: InsertionCode
    value_expression: ValueExpression
    prelude: str | None = None


@frozen
class VariableClash:
    """A variable that several fields share, and their names in the order of the input."""

    variable: str
    names: tuple[str, ...]


def derive_codes(
    esp: Esp,
    name: str,
    *,
    data_type: DataType = DataType.TEXT,
    standard: bool = False,
    default: str | None = None,
    profiles: Profiles = BUILT_IN,
) -> DerivedCodes:
    """Return the codes of the field with this name in the dialect of the ESP.

    `standard` is true for the ESP's own fields and false for custom fields. `default` is the text
    for a missing value.

    Raises: NoSafeForm, with all violations, at `name` or `default`, if the dialect has no safe form
    for them; MissingProfile if the ESP has no profile.
    """
    require_type(Esp, esp=esp)
    require_type(Profiles, profiles=profiles)
    require_type(str, name=name)
    if default is not None:
        require_type(str, default=default)
    return derive(profiles[esp], name, data_type, default, standard=standard)


@lru_cache(maxsize=_REMEMBERED)
def derive(
    profile: Profile,
    name: str,
    data_type: DataType = DataType.TEXT,
    default: str | None = None,
    *,
    standard: bool = False,
) -> DerivedCodes:
    """Return what `derive_codes` does, for an ESP with this profile."""
    slots = {
        "NAME": name,
        "PATH": _path(name),
        "VARIABLE": _variable(name),
        "DEFAULT": default or "",
    }
    violations = Violations()
    with violations.collect("name"):
        form = _form(profile, name, standard=standard)
        slots["EXPRESSION"] = _fill(profile, form.expression, slots)
        prelude = profile.insertion.prelude and _fill(profile, profile.insertion.prelude, slots)
    with violations.collect("default"):
        if default is not None:
            _require_safe_default(profile, default, data_type)
        template = profile.insertion.code if default is None else profile.insertion.with_default
        code = _fill(profile, template, {"EXPRESSION": "", **slots})
    if violations:
        raise NoSafeForm(violations)
    return DerivedCodes(InsertionCode(code), ValueExpression(slots["EXPRESSION"]), prelude)


def derive_guarded_code(
    profile: Profile,
    name: str,
    *,
    data_type: DataType = DataType.TEXT,
    standard: bool = False,
    default: str | None = None,
    form: ValueForm = ValueForm.USUAL,
) -> InsertionCode:
    """Return the code that exported content contains for the field with this name.

    It is the insertion code of `derive_codes`, with a guard if that can show the null itself: it
    shows nothing or the default. The dialect can have another code for the `form` of the value.
    Raises: NoSafeForm as `derive_codes` does.
    """
    codes = derive(profile, name, data_type, default, standard=standard)
    template = _find_template(profile, data_type, default, form)
    if template is None:
        return codes.insertion_code
    slots = {"EXPRESSION": codes.value_expression, "DEFAULT": default or ""}
    return InsertionCode(_fill(profile, template, slots))


def write_code(
    profile: Profile,
    expression: str,
    data_type: DataType,
    default: str | None,
    form: ValueForm,
    template: str | None = None,
) -> InsertionCode:
    """Return the code that shows the value of an expression of this type in the form.

    The template replaces the usual one. Raises: NoSafeForm if the default has no safe form.
    """
    if default is not None:
        _require_safe_default(profile, default, data_type)
    template = template or _find_template(profile, data_type, default, form)
    if template is None:
        has_default = default is not None
        template = profile.insertion.with_default if has_default else profile.insertion.code
    slots = {"EXPRESSION": expression, "DEFAULT": default or ""}
    return InsertionCode(_fill(profile, template, slots))


def _find_template(
    profile: Profile, data_type: DataType, default: str | None, form: ValueForm
) -> str | None:
    """Return the template of the code, or None for that of the dialect."""
    rules = profile.surfaces
    if form in rules.forms:
        templates = rules.forms[form]
        return templates.insertion if default is None else templates.insertion_with_default
    if default is None:
        return profile.insertion.guarded
    has_html = data_type is DataType.TEXT and _ESCAPED.search(default) is not None
    return rules.unescaped_default if has_html else None


def find_clashes(profile: Profile, names: Iterable[str]) -> tuple[VariableClash, ...]:
    """Return the variables that several names share, as the first of these names spells them.

    Only Salesforce has variables; they are case-insensitive. Names without a safe form are ignored.
    """
    if profile.insertion.prelude is None:
        return ()
    spellings: dict[str, str] = {}
    names_by_variable: dict[str, dict[str, None]] = {}
    for name in names:
        try:
            codes = derive(profile, name)
        except NoSafeForm:
            continue
        variable = codes.value_expression
        spelling = spellings.setdefault(variable.lower(), variable)
        names_by_variable.setdefault(spelling, {})[name] = None
    return tuple(
        VariableClash(variable, tuple(group))
        for variable, group in names_by_variable.items()
        if len(group) > 1
    )


def has_safe_form(profile: Profile, name: str, *, standard: bool = False) -> bool:
    """Return whether the dialect of the ESP can refer to a field with this name."""
    with suppress(NoSafeForm):
        derive(profile, name, standard=standard)
        return True
    return False


def is_reference(profile: Profile, expression: str) -> bool:
    """Return whether the expression is the value expression of a field in this dialect."""
    if profile.insertion.prelude is not None:
        return re.fullmatch(r"@\w+", expression, re.ASCII) is not None
    return find_reference(profile, expression) is not None


def find_reference(profile: Profile, expression: str) -> tuple[str, bool] | None:
    """Return the name in a value expression, and whether the field is a standard field.

    The result is None if the expression is not a reference of the dialect. The name in a Salesforce
    variable is that of the variable.
    """
    for forms, standard in ((profile.names.forms, False), (profile.names.standard_forms, True)):
        for form in forms:
            name = _name_in(form, expression)
            if name is not None:
                with suppress(NoSafeForm):
                    codes = derive(profile, name, standard=standard)
                    if codes.value_expression == expression:
                        return name, standard
    return None


def string_literal(profile: Profile, text: str, quote: str) -> str:
    """Return the text as a string literal of the dialect, in `quote` or the other quotes.

    Raises: NoSafeForm if it contains control characters, or if the dialect has no safe form for it.
    """
    _require(_delimiter_violation(profile, text, quote, quote) or control_character_violation(text))
    if (
        "\\" in text and profile.insertion.quoting is not Quoting.DOUBLED
    ):  # it could escape the quote
        message = f"{profile.title} has no safe way to write \\ here."
        raise NoSafeForm([Violation(Rule.INVALID_CHARACTERS, message)])
    return _string_literal(profile, text, quote)


def require_plain_text(profile: Profile, text: str) -> None:
    """Raise NoSafeForm if the ESP could read a part of the text, outside of tags, as code."""
    _require(_text_violation(profile, text))


def _variable(name: str) -> str:
    """Return the name as a variable: each run of other characters becomes an underscore.

    Letters of other scripts than Latin become their code points. Otherwise, all names in such a
    script would have the same variable.
    """
    legible = "".join(f" u{ord(c):04X} " if _is_in_other_script(c) else c for c in name)
    return re.sub(r"[^A-Za-z0-9_]+", "_", legible.strip())


_FIRST_OTHER_SCRIPT = "\N{GREEK CAPITAL LETTER HETA}"
"""The code points before this one are Latin, or marks on Latin letters."""


def _is_in_other_script(character: str) -> bool:
    """Return whether this is a letter, vowel sign or number of another script than Latin."""
    return (
        character >= _FIRST_OTHER_SCRIPT
        and category(character)[0] in "LMN"
        and not unicode_name(character, "").startswith("LATIN ")
    )


def _path(name: str) -> str:
    """Return the name with square brackets around each part that is not a word."""
    parts = name.split(".")
    return ".".join(part if re.fullmatch(WORD, part) else f"[{part}]" for part in parts)


def _form(profile: Profile, name: str, *, standard: bool) -> Form:
    """Return the dialect's form for the name. Raises: NoSafeForm if there is none."""
    _require(_text_violation(profile, name))
    if name != name.strip():
        _require(Violation(Rule.FORMAT, "Remove the white space at the ends."))
    use_standard = standard and bool(profile.names.standard_forms)
    if not profile.names.reserved.isdisjoint(name.split(".")):
        _require(Violation(Rule.RESERVED, f"{profile.title} reads this name as code."))
    for form in profile.names.standard_forms if use_standard else profile.names.forms:
        if re.fullmatch(form.pattern, name):
            return form
    message = profile.names.standard_rule if use_standard else profile.names.rule
    raise NoSafeForm([Violation(Rule.FORMAT, message)])


def _name_in(form: Form, expression: str) -> str | None:
    if form.expression == "PATH":
        return re.sub(r"\[([^\[\]]*)\]", r"\1", expression)
    match = _name_pattern(form.expression).fullmatch(expression)
    return None if match is None else match["name"]


@cache
def _name_pattern(expression: str) -> re.Pattern[str]:
    """Return the pattern that finds the name in value expressions of this form."""
    pattern = re.escape(expression).replace("VARIABLE", r"(?P<name>\w+)")
    pattern = re.sub("(['\"]?)NAME(?:['\"]?)", r"\1(?P<name>.+)\1", pattern)
    return re.compile(re.sub("['\"]", "['\"]", pattern))


def _require_safe_default(profile: Profile, default: str, data_type: DataType) -> None:
    _require(_text_violation(profile, default, *_neighbours(profile)))
    replaced = profile.insertion.default_also_replaces.get(data_type, default)
    if default != replaced:
        _require(
            Violation(
                Rule.NOT_APPLICABLE,
                f"{profile.title} also replaces {replaced} with the default of a"
                f" {data_type.value} field. Use {replaced} as the default.",
            )
        )


def _text_violation(
    profile: Profile, text: str, before: str = "", after: str = ""
) -> Violation | None:
    """Return a violation if the text is not one line without delimiters.

    `before` and `after` are the characters next to the text.
    """
    return _delimiter_violation(profile, text, before, after) or line_violation(
        text, max_length=MAX_LINE_LENGTH
    )


def _delimiter_violation(profile: Profile, text: str, before: str, after: str) -> Violation | None:
    """Return a violation if the text, with the characters next to it, contains a delimiter."""
    if any(
        (before + text + after).count(d) > (before + after).count(d)
        for d in profile.insertion.delimiters
    ):
        delimiters = " or ".join(profile.insertion.delimiters)
        return Violation(
            Rule.INVALID_CHARACTERS, f"{profile.title} has no safe way to write {delimiters} here."
        )
    return None


def _neighbours(profile: Profile) -> tuple[str, str]:
    """Return the characters directly before and after the default."""
    before, after = profile.insertion.with_default.split("DEFAULT")
    return before[-1], after[0]


_SLOT = re.compile(
    r"""(?P<quote>["'])(?P<before>[^"']*?)(?P<quoted>NAME|EXPRESSION|DEFAULT)(?P=quote)"""
    r"""|(?P<bare>NAME|PATH|VARIABLE|EXPRESSION|DEFAULT)"""
)


def _fill(profile: Profile, template: str, slots: dict[str, str]) -> str:
    def value(slot: re.Match[str]) -> str:
        if slot["bare"]:
            return slots[slot["bare"]]
        return _string_literal(profile, slot["before"] + slots[slot["quoted"]], slot["quote"])

    return _SLOT.sub(value, template)


def _string_literal(profile: Profile, text: str, quote: str) -> str:
    """Return the text as a string literal. Raises: NoSafeForm if its quotes have no safe form."""
    if quote in text and profile.insertion.quoting is Quoting.DOUBLED:
        text = text.replace(quote, quote * 2)
    elif quote in text:
        other_quote = {'"': "'", "'": '"'}[quote]
        if profile.insertion.quoting is Quoting.NONE or other_quote in text:
            both = (
                "" if profile.insertion.quoting is Quoting.NONE else f" together with {other_quote}"
            )
            _require(
                Violation(
                    Rule.INVALID_CHARACTERS,
                    f"{profile.title} has no safe way to write {quote}{both} here.",
                )
            )
        quote = other_quote
    return f"{quote}{text}{quote}"


def _require(violation: Violation | None) -> None:
    if violation is not None:
        raise NoSafeForm([violation])
