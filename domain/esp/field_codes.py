"""Codes: how content and conditions refer to a field at one integration or ESP."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import cached_property
from re import fullmatch
from typing import Protocol, runtime_checkable

from attrs import evolve, frozen

from ..content import Surface
from ..content.filters import Filter
from ..fields.protocol import Field
from ..fields.values import DataType
from ..identity import IntegrationId
from .derived_codes import (
    derive,
    derive_guarded_code,
    find_reference,
    is_reference,
    require_plain_text,
)
from .errors import NameProposal, NoSafeForm, NotInsertable
from .filtered_codes import FilteredCode, filter_code
from .names import Esp, EspName, NameFrom, NameState, Target
from .profiles import Profiles
from .profiles.profile import WORD, Profile, ValueForm
from .recognition.tags import find_unclosed, is_certainly_foreign

__all__ = ["FieldCode"]

_STATES = {
    NameState.FOUND: "the last sync found it",
    NameState.AMBIGUOUS: "the last sync found it",
    NameState.MISSING: "the last sync did not find it",
    NameState.UNKNOWN: "no sync has found it yet",
}

DEFAULT_PLACEHOLDER = "DEFAULT"
"""The default in codes that people and programs complete with their own."""


@frozen(kw_only=True)
class FieldCode:
    """How code for one integration or ESP refers to a field.

    `name_from` is FIELD for the field's own code, and None if the field has no ESP name. `esp_name`
    is None in the second case, and if its own code does not say which field of the ESP it inserts.
    For each code that is None, there is a refusal: sentences with the reason and what helps.

    If the name is not certain, `similar_names` are those that the last sync found and that differ
    from it only in case, spaces and punctuation. `proposal` is a name to set: a free one for a
    field without a name, or the similar one for a name that the last sync did not find. `preludes`
    contains code that must precede both codes, by the variable that it sets.
    """

    field: Field
    profile: Profile
    integration_id: IntegrationId | None
    name_from: NameFrom | None = None
    esp_name: EspName | None = None
    insertion_code: str | None = None
    insertion_refusal: str | None = None
    value_expression: str | None = None
    expression_refusal: str | None = None
    similar_names: tuple[str, ...] = ()
    proposal: NameProposal | None = None
    preludes: Mapping[str, str] = {}

    @property
    def refusal(self) -> str | None:
        """The reasons why codes are missing, or None if none is."""
        reasons = filter(None, (self.insertion_refusal, self.expression_refusal))
        return " ".join(dict.fromkeys(reasons)) or None

    @property
    def counterpart(self) -> Field | None:
        """The synced field with the ESP name, if there is one and the field is not itself."""
        return None if self.esp_name is None else self.esp_name.counterpart

    @property
    def meant_field(self) -> Field:
        """The field that the key means at the target.

        Of synced fields, this is the counterpart: no person has defined one for all integrations.
        """
        is_synced = self.field.origin.integration_id is not None
        return (self.counterpart if is_synced else None) or self.field

    @property
    def data_type(self) -> DataType:
        """The data type at the ESP: that of the counterpart, or else of the field."""
        return (self.counterpart or self.field).data_type

    @property
    def sets_variables(self) -> bool:
        """Whether the preludes set the variables from the ESP name, whatever the content sets."""
        if self.preludes and self.esp_name is not None:
            with suppress(NoSafeForm):
                derived = derive(self.profile, self.esp_name.name)
                return self.value_expression == derived.value_expression
        return False

    @property
    def variable(self) -> str:
        """The beginning of the names of variables that code sets to the value."""
        return self.field.key

    def describe(self) -> str:
        """Return a sentence with the field, its ESP name, the state of it, and its counterpart."""
        title, key = self.profile.title, self.field.key
        if self.name_from is NameFrom.FIELD:
            return f"The field {key} has code of its own."
        if self.esp_name is None:
            return f"The field {key} has no name at {title}."
        known = ""
        if self.esp_name.state is not None:
            counterpart = "" if self.counterpart is None else f": {self.counterpart.key}"
            known = f" ({_STATES[self.esp_name.state]}{counterpart}{self._describe_similar()})"
        return f"The field {key} is {self.esp_name.name} at {title}{known}."

    @property
    def esp(self) -> Esp:
        """The ESP at which this is the code."""
        return self.profile.esp

    def explain_creation(self) -> str:
        """Return the sentences that say how a person creates the field at the ESP."""
        if self.esp_name is None:
            return self.profile.names.creation.explain()
        return self.profile.names.creation.explain(self.esp_name.name)

    def _describe_similar(self) -> str:
        if not self.similar_names or self.esp_name is None:
            return ""
        is_found = self.esp_name.state is NameState.AMBIGUOUS
        return f", {'and also' if is_found else 'but'} {', '.join(self.similar_names)}"

    @property
    def is_derived(self) -> bool:
        """Whether a name derives the insertion code, and no person wrote it.

        Exports add guards, escaping and filters to such code only.
        """
        is_written = self.name_from is NameFrom.FIELD and self.field.custom_insertion_code
        return not is_written and self._reference is not None

    def require_insertion_code(
        self, default: str | None = None, *, form: ValueForm = ValueForm.USUAL
    ) -> str:
        """Return the code that inserts the field, or the default for recipients without a value.

        Code that a name derives gets the guard of the ESP, and shows the value in the `form`. Code
        that a person wrote is inserted verbatim, or with the default in the usual way of the ESP.

        Raises: NotInsertable, with the field and the reason, if there is no such code.
        """
        if self.insertion_code is None:
            raise self._refuse(self.insertion_refusal)
        has_guard = self.profile.insertion.guarded is not None
        is_changed = (has_guard or form in self.profile.surfaces.forms) and self.is_derived
        if default is None and not is_changed:
            return self.insertion_code
        return self._derive_code(default, form if self.is_derived else ValueForm.USUAL)

    def require_filtered_code(
        self, filters: Sequence[Filter], *, form: ValueForm = ValueForm.USUAL
    ) -> FilteredCode:
        """Return the code that shows the value with the filters, in this form.

        Raises: NotInsertable, with the field and the reason, if there is no such code.
        """
        if self.insertion_code is None or self.value_expression is None:
            raise self._refuse(self.insertion_refusal or self.expression_refusal)
        if not self.is_derived:
            raise self._refuse(
                "It can't have a filter, because its insertion code is not derived from a name."
                " Write the filter into the insertion code."
            )
        try:
            return filter_code(
                self.profile, self.value_expression, filters, self.field.data_type, form=form
            )
        except NotInsertable as error:
            raise self._refuse(str(error)) from None

    def require_default(self, default: str) -> str:
        """Return the default as text for the code of the ESP.

        Raises: NotInsertable, with the field and the reason, if it could be read as code.
        """
        try:
            require_plain_text(self.profile, default)
        except NoSafeForm as error:
            raise self._refuse_default(error) from None
        return default

    @property
    def insertion_code_with_default(self) -> str | None:
        """The insertion code with the default DEFAULT, or None if it can't have a default."""
        return self._find_code(DEFAULT_PLACEHOLDER, ValueForm.USUAL)

    @property
    def html_code(self) -> str | None:
        """What an export writes into HTML for a reference, or None."""
        return self._find_code(None, self._html_form)

    @property
    def html_code_with_default(self) -> str | None:
        """The same with the default DEFAULT, or None if it can't have a default."""
        return self._find_code(DEFAULT_PLACEHOLDER, self._html_form)

    @property
    def _html_form(self) -> ValueForm:
        is_text = self.data_type is DataType.TEXT
        return self.profile.surfaces.form(Surface.HTML) if is_text else ValueForm.USUAL

    def _find_code(self, default: str | None, form: ValueForm) -> str | None:
        with suppress(NotInsertable):
            return self.require_insertion_code(default, form=form)
        return None

    def require_value_expression(self) -> str:
        """Return the value expression.

        Raises: NotInsertable, with the field and the reason, if there is none.
        """
        if self.value_expression is None:
            raise self._refuse(self.expression_refusal)
        return self.value_expression

    def _refuse(self, reason: str | None) -> NotInsertable:
        proposal = self.proposal if self.esp_name is None else None
        return NotInsertable(f"{self.describe()} {reason}", proposal)

    def _refuse_default(self, error: NoSafeForm) -> NotInsertable:
        reasons = " ".join(violation.message for violation in error.violations)
        return self._refuse(f"This default is not possible. {reasons}")

    def _derive_code(self, default: str | None, form: ValueForm) -> str:
        if self._reference is None:
            raise self._refuse(
                f"It can't have a default, because its insertion code is not the usual one of"
                f" {self.profile.title}. Write the default into the insertion code."
            )
        name, standard = self._reference
        try:
            return derive_guarded_code(
                self.profile,
                name,
                data_type=self.data_type,
                standard=standard,
                default=default,
                form=form,
            )
        except NoSafeForm as error:
            raise self._refuse_default(error) from None

    @cached_property
    def _reference(self) -> tuple[str, bool] | None:
        """The name that derives the codes, and whether it is a standard field's, or None."""
        reference = find_reference(self.profile, self.value_expression or "")
        if self.esp_name is not None:
            reference = self.esp_name.name, self.esp_name.standard
        if reference is not None and self._is_derived_from(*reference):
            return reference
        return None

    def _is_derived_from(self, name: str, standard: bool) -> bool:  # noqa: FBT001
        try:
            derived = derive(self.profile, name, standard=standard)
        except NoSafeForm:
            return False
        same_code = _without_space(self.insertion_code or "") == _without_space(
            derived.insertion_code
        )
        return same_code and self.value_expression == derived.value_expression


class NameSource(Protocol):
    """What the fields of one organization are called at targets."""

    @property
    def by_key(self) -> Mapping[str, Field]:
        """The fields by key."""

    def explain_key(self, key: str) -> str | None:
        """Return a sentence about a key that no field has, or None."""

    @property
    def profiles(self) -> Profiles:
        """The profiles of all ESPs."""

    def resolve_target(self, target: Target | str) -> Target:
        """Return the integration, or the ESP if the organization has no integration with it."""

    def get_profile(self, target: Target) -> Profile:
        """Return the profile of the ESP of the target."""


@runtime_checkable
class CodeSource(Protocol):
    """The codes of the fields of one organization at targets. `FieldCodes` is one."""

    @property
    def names(self) -> NameSource:
        """The names from which the codes are derived."""

    def find(self, key: str, target: Target) -> FieldCode | None:
        """Return the code at the target of the field with this key, or None if there is none."""

    def get_own_email(self, target: Target) -> FieldCode:
        """Return the code of the ESP's own field for the address of the recipient."""


def own_code(code: FieldCode, preludes: Mapping[str, str], profiles: Profiles) -> FieldCode:
    """Return the field's own two codes. The missing one is derived from the other."""
    profile, field = code.profile, code.field
    insertion_code, expression = field.custom_insertion_code, field.custom_value_expression
    reference = find_reference(profile, expression or _expression_in(profile, insertion_code or ""))
    name = None
    if reference is not None:
        derived = derive(profile, reference[0], standard=reference[1])
        insertion_code = insertion_code or derived.insertion_code
        expression = expression or derived.value_expression
        if derived.prelude is None:  # otherwise, the code has the name of a variable
            name = EspName(
                name=reference[0],
                standard=reference[1],
                name_from=NameFrom.FIELD,
                state=None,
            )
    code = evolve(code, name_from=NameFrom.FIELD, esp_name=name)
    return stored_code(code, (insertion_code, expression), preludes, profiles)


def derived_code(code: FieldCode, name: EspName) -> FieldCode:
    """Return the code that is derived from the ESP name, or the reasons why there is none."""
    try:
        derived = derive(code.profile, name.name, standard=name.standard)
    except NoSafeForm as error:
        reason = (
            f"{code.profile.title} has no safe form for the name {name.name}."
            f" {' '.join(violation.message for violation in error.violations)}"
        )
        return evolve(code, insertion_refusal=reason, expression_refusal=reason)
    preludes = {}
    if derived.prelude is not None:
        preludes[derived.value_expression.lower()] = derived.prelude
    return _with_codes(code, (derived.insertion_code, derived.value_expression), preludes)


def stored_code(
    code: FieldCode,
    codes: tuple[str | None, str | None],
    preludes: Mapping[str, str],
    profiles: Profiles,
) -> FieldCode:
    """Return the code with what is stored: an insertion code, which must be complete, and a value.

    For each that is missing, there is a refusal.
    """
    code = _with_codes(code, codes, preludes)
    opening = code.insertion_code and find_unclosed(code.insertion_code, profiles)
    if not opening:
        return code
    return evolve(
        code,
        insertion_code=None,
        insertion_refusal=(
            f"The insertion code of this field is not complete: `{opening}` has no end. Add it."
        ),
    )


def _with_codes(
    code: FieldCode, codes: tuple[str | None, str | None], preludes: Mapping[str, str]
) -> FieldCode:
    """Return the code with an insertion code and a value expression, or the refusals of these."""
    insertion_code, expression = codes
    insertion_refusal = expression_refusal = None
    title = code.profile.title
    if not code.field.insertable:
        insertion_code, insertion_refusal = None, "This field is not insertable."
    elif insertion_code is None:
        insertion_refusal = (
            "This field has no insertion code, and its value expression is not a plain reference"
            f" of {title}. Add the insertion code, or remove the value expression."
        )
    if expression is None:
        expression_refusal = (
            "This field has no value expression, and its insertion code is not a plain reference"
            f" of {title}. Add the value expression, or remove the insertion code."
        )
    return evolve(
        code,
        insertion_code=insertion_code,
        insertion_refusal=insertion_refusal,
        value_expression=expression,
        expression_refusal=expression_refusal,
        preludes=preludes,
    )


def has_own_code(profiles: Profiles, profile: Profile, field: Field) -> bool:
    """Return whether the field has a code, and neither is certainly in another dialect."""
    insertion_code, expression = field.custom_insertion_code, field.custom_value_expression
    if insertion_code is None and expression is None:
        return False
    return not (
        (insertion_code is not None and is_certainly_foreign(profiles, profile, insertion_code))
        or (
            expression is not None
            and _is_certainly_foreign_expression(profiles, profile, expression)
        )
    )


def _is_certainly_foreign_expression(profiles: Profiles, profile: Profile, expression: str) -> bool:
    """Return whether only other dialects refer to a field like this.

    A word, or a path of Handlebars, can be a variable in every dialect.
    """
    if is_reference(profile, expression) or fullmatch(WORD, expression):
        return False
    dialects = [each for each in profiles if is_reference(each, expression)]
    return not all(each.vocabulary.any_name for each in dialects)


def _expression_in(profile: Profile, insertion_code: str) -> str:
    """Return the value expression in a plain insertion code, or an empty text."""
    code = insertion_code.strip()
    slot = "EXPRESSION" if "EXPRESSION" in profile.insertion.code else "NAME"
    before, after = (part.strip() for part in profile.insertion.code.split(slot))
    if not (code.startswith(before) and code.endswith(after)):
        return ""
    inserted = code[len(before) : len(code) - len(after)].strip()
    return (
        inserted
        if slot == "EXPRESSION"
        else profile.names.forms[0].expression.replace(slot, inserted)
    )


def _without_space(code: str) -> str:
    return "".join(code.split())
