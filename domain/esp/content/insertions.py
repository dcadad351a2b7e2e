"""The code of references, apart from what depends on their places."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import TypeAlias

from attrs import frozen

from ...content import FilterName, Reference, WarningCode
from ...content.filters import Filter
from ...fields.values import DataType
from ..conditions.languages import LANGUAGES
from ..dialects import DIALECTS
from ..errors import NotInsertable
from ..names.codes import FieldCode
from ..surfaces import SURFACE_RULES, ValueForm
from .html_in_values import HtmlInValues

Note: TypeAlias = tuple[WarningCode, str]
"""A warning without its place."""


@frozen(kw_only=True)
class Insertion:
    """The code that shows a value, and the warnings about it at each place.

    `otherwise` is the text for recipients without a value if the code must be in a condition,
    because of its filters. If `needs_encoding` is true, the value can break the query of a link.
    """

    code: str
    otherwise: str | None = None
    needs_encoding: bool
    filter_notes: Sequence[Note] = ()
    html_caveat: str | None
    value_notes: Sequence[Note] = ()


class Insertions:
    """The insertions of one export. Equal references share one."""

    def __init__(self, html: HtmlInValues) -> None:
        self._html, self._esp, self._title = html, html.esp, DIALECTS[html.esp].title
        self._found: dict[object, Insertion | NotInsertable] = {}

    def get(self, reference: Reference, code: FieldCode, *, is_link: bool) -> Insertion:
        """Return the insertion for a reference to the field with this code.

        If `is_link` is true, the value is the URL of a link.
        Raises: NotInsertable if there is none.
        """
        key = reference.key, reference.filters, reference.default, is_link
        if key not in self._found:
            try:
                self._found[key] = self._insert(reference, code, is_link=is_link)
            except NotInsertable as error:
                self._found[key] = error
        found = self._found[key]
        if isinstance(found, NotInsertable):
            raise found
        return found

    def _insert(self, reference: Reference, code: FieldCode, *, is_link: bool) -> Insertion:
        form = self._html.find_form(code, is_link=is_link)
        if reference.filters:
            return self._filter(reference.filters, reference.default, code, form)
        return Insertion(
            code=code.require_insertion_code(reference.default, form=form),
            needs_encoding=code.data_type is DataType.TEXT,
            html_caveat=self._html.find_caveat(code),
            value_notes=tuple(self._value_notes(code, reference.default, form)),
        )

    def _filter(
        self, filters: Sequence[Filter], default: str | None, code: FieldCode, form: ValueForm
    ) -> Insertion:
        """Return the insertion with filters. They don't change the default: it has a condition."""
        is_encoded = any(each.name is FilterName.URL for each in filters)
        filtered = code.require_filtered_code(filters, form=ValueForm.USUAL if is_encoded else form)
        otherwise = code.require_default(default) if default else ""
        if re.search(LANGUAGES[self._esp].inseparable, otherwise) is not None:
            message = "This default is not possible: add a space at its ends."
            raise NotInsertable(message)
        notes = [(WarningCode.FILTER_DIFFERENCE, each) for each in filtered.differences]
        for name in filtered.secondary:
            message = (
                f"Only secondary sources establish the filter `{name.value}` of {self._title}."
            )
            notes.append((WarningCode.SECONDARY_SOURCES, message))
        return Insertion(
            code=filtered.code,
            otherwise=otherwise if filtered.needs_value or otherwise else None,
            needs_encoding=not is_encoded and code.data_type is DataType.TEXT,
            filter_notes=tuple(notes),
            html_caveat=None if is_encoded else self._html.find_caveat(code),
        )

    def _value_notes(self, code: FieldCode, default: str | None, form: ValueForm) -> Iterator[Note]:
        """Yield the warnings about values that the ESP can show in another form than a preview."""
        dialect = DIALECTS[self._esp]
        if code.data_type in dialect.shown_forms:
            yield WarningCode.SHOWN_FORM, dialect.shown_forms[code.data_type]
        effects = []
        if form in SURFACE_RULES[self._esp].forms:
            effects.append(f"the value is not shown {form.value}")
        if dialect.guarded_insertion is not None:
            effects.append(f"{self._title} can show None for a value that is null")
        for effect in () if code.is_derived else effects:
            message = f"This code is not derived from a name, so it is inserted verbatim: {effect}."
            yield WarningCode.VERBATIM_CODE, message
        if dialect.default_caveat and default is not None and code.data_type is DataType.TEXT:
            yield WarningCode.DEFAULT_OF_EMPTY_TEXT, dialect.default_caveat
