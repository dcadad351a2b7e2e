"""How an export shows HTML in the values of text fields."""

from __future__ import annotations

from attrs import frozen

from ...content import Content, Surface, find_surface
from ...fields.values import DataType
from ..field_codes import FieldCode
from ..profiles.profile import Profile, ValueForm
from .options import ExportOptions


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
