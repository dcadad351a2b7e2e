"""The code of references, apart from what depends on their places."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from typing import TypeAlias

from attrs import evolve, frozen

from ...content import FilterName, Reference, WarningCode
from ...content.filters import Filter
from ...fields.values import DataType
from ..errors import NotInsertable
from ..field_codes import FieldCode
from ..names import NameFrom
from ..profiles.profile import ValueForm
from ..recognition.tags import is_foreign
from .html_in_values import HtmlInValues

Note: TypeAlias = tuple[WarningCode, str]
"""A warning without its place."""


@frozen(kw_only=True)
class Insertion:
    """The code that shows a value, and the warnings about it at each place.

    `otherwise` is the text for recipients without a value if the code must be in a condition,
    because of its filters. If `is_foreign` is true, the code that a person wrote may be in another
    dialect. If `needs_encoding` is true, the value can break the query of a link.
    """

    code: str
    otherwise: str | None = None
    is_foreign: bool = False
    needs_encoding: bool
    filter_notes: Sequence[Note] = ()
    html_caveat: str | None
    value_notes: Sequence[Note] = ()


class Insertions:
    """The insertions of one export. Equal references share one, and so do equal filters."""

    def __init__(self, html: HtmlInValues) -> None:
        self._html, self._profile, self._title = html, html.profile, html.profile.title
        self._found: dict[object, Insertion | NotInsertable] = {}

    def get(self, reference: Reference, code: FieldCode, *, is_link: bool) -> Insertion:
        """Return the insertion for a reference to the field with this code.

        If `is_link` is true, the value is the URL of a link.
        Raises: NotInsertable if there is none.
        """
        if not reference.filters:
            key: object = reference.key, reference.default, is_link
            return self._once(key, lambda: self._insert(reference, code, is_link=is_link))
        key = reference.key, reference.filters, is_link
        insertion = self._once(key, lambda: self._filter(reference.filters, code, is_link=is_link))
        return self._with_default(insertion, reference.default, code)

    def _once(self, key: object, insert: Callable[[], Insertion]) -> Insertion:
        if key not in self._found:
            try:
                self._found[key] = insert()
            except NotInsertable as error:
                self._found[key] = error
        found = self._found[key]
        if isinstance(found, NotInsertable):
            raise found
        return found

    def _insert(self, reference: Reference, code: FieldCode, *, is_link: bool) -> Insertion:
        form = self._html.find_form(code, is_link=is_link)
        inserted = code.require_insertion_code(reference.default, form=form)
        return Insertion(
            code=inserted,
            is_foreign=self._is_foreign(code, inserted),
            needs_encoding=code.data_type is DataType.TEXT,
            html_caveat=self._html.find_caveat(code),
            value_notes=tuple(self._value_notes(code, reference.default, form)),
        )

    def _filter(self, filters: Sequence[Filter], code: FieldCode, *, is_link: bool) -> Insertion:
        """Return the insertion with filters."""
        is_encoded = any(each.name is FilterName.URL for each in filters)
        form = ValueForm.USUAL if is_encoded else self._html.find_form(code, is_link=is_link)
        filtered = code.require_filtered_code(filters, form=form)
        notes = [(WarningCode.FILTER_DIFFERENCE, each) for each in filtered.differences]
        for name in filtered.secondary:
            message = (
                f"Only secondary sources establish the filter `{name.value}` of {self._title}."
            )
            notes.append((WarningCode.SECONDARY_SOURCES, message))
        return Insertion(
            code=filtered.code,
            otherwise="" if filtered.needs_value else None,
            is_foreign=self._is_foreign(code, filtered.code),
            needs_encoding=not is_encoded and code.data_type is DataType.TEXT,
            filter_notes=tuple(notes),
            html_caveat=None if is_encoded else self._html.find_caveat(code),
        )

    def _is_foreign(self, code: FieldCode, inserted: str) -> bool:
        return code.name_from is NameFrom.FIELD and is_foreign(self._profile.esp, inserted)

    def _with_default(
        self, insertion: Insertion, default: str | None, code: FieldCode
    ) -> Insertion:
        """Return the insertion with a default, which its filters don't change: in a condition."""
        if not default:
            return insertion
        otherwise = code.require_default(default)
        if re.search(self._profile.conditions.inseparable, otherwise) is not None:
            message = "This default is not possible: add a space at its ends."
            raise NotInsertable(message)
        return evolve(insertion, otherwise=otherwise)

    def _value_notes(self, code: FieldCode, default: str | None, form: ValueForm) -> Iterator[Note]:
        """Yield the warnings about values that the ESP can show in another form than a preview."""
        profile = self._profile
        if code.data_type in profile.insertion.shown_forms:
            yield WarningCode.SHOWN_FORM, profile.insertion.shown_forms[code.data_type]
        effects = []
        if form in profile.surfaces.forms:
            effects.append(f"the value is not shown {form.value}")
        if profile.insertion.guarded is not None:
            effects.append(f"{self._title} can show None for a value that is null")
        for effect in () if code.is_derived else effects:
            message = f"This code is not derived from a name, so it is inserted verbatim: {effect}."
            yield WarningCode.VERBATIM_CODE, message
        if (
            profile.insertion.default_caveat
            and default is not None
            and code.data_type is DataType.TEXT
        ):
            yield WarningCode.DEFAULT_OF_EMPTY_TEXT, profile.insertion.default_caveat
