"""The code that shows the value of a field with filters."""

from __future__ import annotations

import re
from collections.abc import Sequence

from attrs import frozen

from ..content.filters import Filter, FilterName
from ..fields.values import DataType
from .errors import NotInsertable
from .profiles.profile import (
    FilterForm,
    FilterLanguage,
    FilterRefusal,
    Profile,
    Strength,
    ValueForm,
)

_SLOT = re.compile("VALUE|ARGUMENT|LESS|ZEROS")


@frozen(kw_only=True)
class FilteredCode:
    """Code that shows a value with filters.

    If `needs_value` is true, the code must be in a block for recipients with a value. `differences`
    are sentences about values for which the ESP can show something else than the preview, and
    `secondary` the filters that only secondary sources establish.
    """

    code: str
    needs_value: bool
    differences: tuple[str, ...]
    secondary: tuple[FilterName, ...]


def filter_code(
    profile: Profile,
    expression: str,
    filters: Sequence[Filter],
    data_type: DataType,
    *,
    form: ValueForm = ValueForm.USUAL,
) -> FilteredCode:
    """Return the code that shows a value of this type with the filters, which fit the type.

    `expression` is the value expression that the name of a field derives, and `form` the form of
    the result.

    Raises: NotInsertable, with the reason, if the ESP has no code for a filter.
    """
    language, title = profile.filters, profile.title
    forms = [_find_form(language, title, each) for each in filters]
    if len(filters) > 1 and not language.joins:
        raise NotInsertable(f"{title} can apply only one filter to a value.")
    code = language.value.replace("VALUE", expression)
    for used, each in zip(forms, filters, strict=True):
        if used.is_output and each is not filters[-1]:
            raise NotInsertable(f"At {title}, `{each.name.value}` must be the last filter.")
        code = _fill(used, language, each, code)
    if not forms[-1].is_output:
        templates = profile.surfaces.forms.get(form)
        output = language.output if templates is None else templates.insertion
        code = re.sub("VALUE|EXPRESSION", lambda _: code, output)
    differences = [each for used in forms for each in used.differences]
    if data_type is DataType.DATETIME and forms[0].difference_of_instants is not None:
        differences.append(forms[0].difference_of_instants)
    return FilteredCode(
        code=_without_parentheses(code),
        needs_value=any(used.needs_value for used in forms),
        differences=tuple(each.replace("{title}", title) for each in differences),
        secondary=tuple(
            each.name
            for used, each in zip(forms, filters, strict=True)
            if used.strength is Strength.SECONDARY
        ),
    )


UNKNOWN = FilterRefusal("No source establishes how {title} writes it.")
"""The refusal of a filter that a profile does not contain."""


def _find_form(language: FilterLanguage, title: str, wanted: Filter) -> FilterForm:
    form = language.forms.get(wanted.name, UNKNOWN)
    if isinstance(form, FilterRefusal):
        reason = form.reason.replace("{title}", title)
        raise NotInsertable(f"The filter `{wanted}` is not possible. {reason}")
    if wanted.name is FilterName.DATE and language.write_date(str(wanted.argument)) is None:
        reason = language.missing_date.replace("{title}", title)
        raise NotInsertable(f"The filter `{wanted}` is not possible. {reason}")
    if isinstance(wanted.argument, int) and form.least and wanted.argument < form.least:
        raise NotInsertable(
            f"The filter `{wanted}` is not possible. At {title}, its number must be at least"
            f" {form.least}."
        )
    return form


def _fill(form: FilterForm, language: FilterLanguage, filled: Filter, value: str) -> str:
    slots = {"VALUE": value}
    match filled.argument:
        case str() as format_ if filled.name is FilterName.DATE:
            slots["ARGUMENT"] = language.write_date(format_) or ""
        case int() as number:
            slots |= {"ARGUMENT": str(number), "LESS": str(number - 1), "ZEROS": "0" * number}
        case float() | str() as argument:
            slots["ARGUMENT"] = str(argument)
    code = form.code
    if filled.argument == 0 and form.code_for_zero is not None:
        code = form.code_for_zero
    return _SLOT.sub(lambda slot: slots[slot[0]], code)


def _without_parentheses(code: str) -> str:
    """Return the code without parentheses around the whole content of a tag of Handlebars."""
    return re.sub(r"(\{{2,3})\((.*)\)(\}{2,3})", r"\1\2\3", code)
