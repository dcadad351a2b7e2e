"""The code that inserts a field into content."""

from __future__ import annotations

import re
from contextlib import suppress

from ...fields.field import RecipientField
from ..checks import missing_member
from ..derived_codes import DerivedCodes, derive_codes, derive_guarded_code, find_reference
from ..dialects import DIALECTS, Esp, Quoting
from ..errors import NoSafeForm, NotInsertable
from .tags import is_certainly_foreign

_LITERALS = re.compile(r"""(?>(?:[^"']++|(?:"[^"]*+"|'[^']*+')(?!["']))*)""")
"""Code in which string literals don't contain doubled quotes."""
_LITERAL = re.compile(r"""(?P<quote>["'])(?P<text>.*?)(?P=quote)""", re.DOTALL)


def insertion_code(esp: Esp, field: RecipientField, default: str | None = None) -> str:
    """Return the code that inserts the field, or the default for recipients without a value.

    Code that a sync derived gets guards. Other code is inserted verbatim.

    Raises: NotInsertable, with the reason, if there is no such code.
    """
    if not field.insertable:
        raise NotInsertable("This field is not insertable.")
    code = field.custom_insertion_code
    if code is None:
        raise NotInsertable(f"This field {missing_member(field, 'insertion code')}")
    if field.origin.integration_id is None and is_certainly_foreign(esp, code):
        title = DIALECTS[esp].title
        raise NotInsertable(f"The insertion code of this field is not in the language of {title}.")
    if default is None and not has_derived_code(esp, field):
        return code
    return _derived_code(esp, field, code, default)


def has_derived_code(esp: Esp, field: RecipientField) -> bool:
    """Return whether a sync stored the code, and the code is what its name derives."""
    is_synced = field.origin.integration_id is not None
    return is_synced and _find_name(esp, field, field.custom_insertion_code or "") is not None


def value_expression(field: RecipientField) -> str:
    """Return the value expression of the field. Raises: NotInsertable if there is none."""
    if field.custom_value_expression is None:
        raise NotInsertable(f"This field {missing_member(field, 'value expression')}")
    return field.custom_value_expression


def with_other_quotes(esp: Esp, code: str, quote: str) -> str | None:
    """Return the code without this type of quotes, or None if the dialect has no such form."""
    if quote not in code:
        return code
    if DIALECTS[esp].quoting is Quoting.NONE or _LITERALS.fullmatch(code) is None:
        return None
    other_quote = {'"': "'", "'": '"'}[quote]

    def in_other_quotes(literal: re.Match[str]) -> str:
        text = literal["text"]
        has_quotes = quote in text or other_quote in text
        return literal[0] if has_quotes else f"{other_quote}{text}{other_quote}"

    changed = _LITERAL.sub(in_other_quotes, code)
    return None if quote in changed else changed


def _derived_code(esp: Esp, field: RecipientField, code: str, default: str | None) -> str:
    found = _find_name(esp, field, code)
    if found is None:
        raise NotInsertable(
            f"This field can't have a default: its insertion code is not the usual one of"
            f" {DIALECTS[esp].title}. Write the default into the insertion code."
        )
    name, standard = found
    try:
        return derive_guarded_code(
            esp, name, data_type=field.data_type, standard=standard, default=default
        )
    except NoSafeForm as error:
        reasons = " ".join(violation.message for violation in error.violations)
        raise NotInsertable(f"This default is not possible. {reasons}") from None


def _find_name(esp: Esp, field: RecipientField, code: str) -> tuple[str, bool] | None:
    """Return the name that derives the code, and whether it is a standard field, or None."""
    for name, standard in _names(esp, field):
        with suppress(NoSafeForm):
            if _is_plain(field, code, derive_codes(esp, name, standard=standard)):
                return name, standard
    return None


def _names(esp: Esp, field: RecipientField) -> list[tuple[str, bool]]:
    """Return the possible names of the field at the ESP, and whether it is a standard field."""
    name = field.origin.esp_field_name
    if name is not None:
        return [(name, False), (name, True)]
    reference = find_reference(esp, field.custom_value_expression or "")
    return [] if reference is None else [reference]


def _is_plain(field: RecipientField, code: str, plain: DerivedCodes) -> bool:
    same_code = "".join(code.split()) == "".join(plain.insertion_code.split())
    return same_code and field.custom_value_expression == plain.value_expression
