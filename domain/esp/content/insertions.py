"""The code of references, apart from what depends on their places."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from typing import TypeAlias

from attrs import evolve, frozen

from ...content import Content, Surface, WarningCode
from ...content.filters import Filter, FilterName
from ...content.surfaces import find_surface
from ...content.tree import Reference
from ...fields.values import DataType
from ..errors import NotInsertable
from ..field_codes import FieldCode
from ..names import NameFrom
from ..profiles import Profiles
from ..profiles.profile import Profile, ValueForm
from ..recognition.tags import is_foreign
from .options import ExportOptions

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


@frozen(kw_only=True)
class HtmlInValues:
    """The forms of the values in one export. If `raw` is true, the ESP shows them as it does.

    A surface that nobody has chosen does not unescape values: the content can be a part of an email
    in HTML.
    """

    profile: Profile
    surface: Surface
    is_chosen: bool
    raw: bool

    @classmethod
    def of(cls, content: Content, profile: Profile, options: ExportOptions) -> HtmlInValues:
        """Return the forms for content on the chosen surface, or on the one that it has."""
        surface = find_surface(content, options.surface)
        is_chosen = options.surface is not None
        return cls(profile=profile, surface=surface, is_chosen=is_chosen, raw=options.raw)

    def find_form(self, code: FieldCode, *, is_link: bool = False) -> ValueForm:
        """Return the form in which the value is shown, or in which it is the URL of a link."""
        if is_link and ValueForm.LINK in self.profile.surfaces.forms and code.is_derived:
            return ValueForm.LINK
        form = self._wanted(code)
        return form if self.is_chosen or form is not ValueForm.RAW else ValueForm.USUAL

    def find_caveat(self, code: FieldCode) -> str | None:
        """Return what can be wrong with a value of the field, or None."""
        if self.raw or code.data_type is not DataType.TEXT:
            return None
        if self.find_form(code) is not self._wanted(code):
            return (
                f"{self.profile.title} can show & in a value as &amp; in plain text. Choose"
                " the surface: text or html."
            )
        return self.profile.surfaces.caveats.get(self.surface)

    def _wanted(self, code: FieldCode) -> ValueForm:
        if self.raw or code.data_type is not DataType.TEXT:
            return ValueForm.USUAL
        return self.profile.surfaces.form(self.surface)


class Insertions:
    """The insertions of one export. Equal references share one, and so do equal filters."""

    def __init__(self, html: HtmlInValues, profiles: Profiles) -> None:
        self._profiles = profiles
        self._html, self._profile, self._title = html, html.profile, html.profile.title
        self._found: dict[object, Insertion | NotInsertable] = {}

    def get(self, reference: Reference, code: FieldCode, *, is_link: bool) -> Insertion:
        """Return the insertion for a reference to the field with this code.

        If `is_link` is true, the value is the URL of a link.
        Raises: NotInsertable if there is none.
        """
        if not reference.filters:
            key: object = reference.key, code.value_expression, reference.default, is_link
            return self._once(key, lambda: self._insert(reference, code, is_link=is_link))
        key = reference.key, code.value_expression, reference.filters, is_link
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
        return code.name_from is NameFrom.FIELD and is_foreign(
            self._profiles, self._profile, inserted
        )

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
