"""The codes of all fields of an organization at its integrations, and proposals of names there."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cached_property, partial
from itertools import chain, count

from attrs import evolve

from ..content.resolution import OWN_EMAIL
from ..esp.derived_codes import DerivedCodes, derive, has_safe_form
from ..esp.errors import NameProposal, NoSafeForm
from ..esp.field_codes import FieldCode, derived_code, has_own_code, own_code, stored_code
from ..esp.names import Esp, EspName, NameFrom, NameState, Target
from ..esp.profiles import BUILT_IN, Profiles
from ..esp.profiles.profile import Profile
from ..esp.recognition.words import find_variables
from ..fields.field import RecipientField
from ..fields.protocol import Field
from ..identity import FieldId
from .esp_names import EspNames, derived_key
from .integration import Integration

__all__ = ["FieldCodes"]


class FieldCodes:
    """The codes of the fields of one organization, at its integrations and at other ESPs.

    Content, conditions, lists and all pages and commands that show codes use these.
    """

    def __init__(self, names: EspNames) -> None:
        self.names = names
        self._proposals = _NameProposals(names)
        self._preludes: dict[Target, _Preludes] = {}

    @classmethod
    def of(
        cls,
        fields: Iterable[RecipientField],
        integrations: Iterable[Integration] = (),
        profiles: Profiles = BUILT_IN,
    ) -> FieldCodes:
        """Return the codes of all fields and integrations of an organization."""
        return cls(EspNames(fields, integrations, profiles))

    def find(self, key: str, target: Target) -> FieldCode | None:
        """Return the code at the target of the field with this key, or None if there is none."""
        field = self.names.by_key.get(key)
        return None if field is None else self.get(field, target)

    def propose_names(self, esp: Esp) -> Mapping[FieldId, str]:
        """Return a free name for each field that has none at the ESP."""
        return self._proposals.at(esp)

    def get_own_email(self, target: Target) -> FieldCode:
        """Return the code of the ESP's own field for the address of the recipient."""
        name = self.names.derive_name(OWN_EMAIL, target)
        return derived_code(self._named(OWN_EMAIL, name, target), name)

    def list_codes(self, field: RecipientField) -> tuple[FieldCode, ...]:
        """Return the code at each integration, and then at each ESP without an integration."""
        integrations = self.names.with_profile
        connected = {self.names.get_profile(each).esp for each in integrations}
        others = (esp for esp in self.names.profiles.esps if esp not in connected)
        targets: list[Target] = [*integrations, *others]
        return tuple(self.get(field, target) for target in targets)

    def get(self, field: RecipientField, target: Target) -> FieldCode:
        """Return the code of the field at the target, the first of these.

        The code that is derived from a name that was set; the field's own code, if its integration
        is the target, or if it is an API or manual field whose code is not in another dialect; the
        code of its counterpart; the code that is derived from its ESP name.
        """
        name = self.names.find(field, target)
        code = self._named(field, name, target)
        is_set = name is not None and name.name_from is NameFrom.INTEGRATION
        if (
            not is_set
            and field.origin.integration_id is None
            and has_own_code(self.names.profiles, code.profile, field)
        ):
            return own_code(code, self._find_preludes(field, target), self.names.profiles)
        if name is None:
            reason = self._proposals.explain_absence(field, target)
            return evolve(
                code,
                insertion_refusal=reason,
                expression_refusal=reason,
                proposal=self._proposals.find(field, target),
            )
        if name.state is not NameState.FOUND:
            similar = self.names.find_similar(field, target)
            proposal = self._proposals.find(field, target) if similar else None
            code = evolve(code, similar_names=similar, proposal=proposal)
        if is_set:
            return derived_code(code, name)
        source = field if field.origin.integration_id == target else name.counterpart
        if source is None or not (source.custom_insertion_code and source.custom_value_expression):
            return derived_code(code, name)
        codes = source.custom_insertion_code, source.custom_value_expression
        return stored_code(code, codes, self._find_preludes(source, target), self.names.profiles)

    def _named(self, field: Field, name: EspName | None, target: Target) -> FieldCode:
        """Return the code of the field with this name, without its two codes."""
        return FieldCode(
            field=field,
            profile=self.names.get_profile(target),
            integration_id=None if isinstance(target, Esp) else target,
            name_from=None if name is None else name.name_from,
            esp_name=name,
        )

    def _find_preludes(self, field: Field, target: Target) -> Mapping[str, str]:
        """Return the preludes that the stored codes of the field require at the target."""
        if self.names.get_profile(target).insertion.prelude is None:
            return {}
        if target not in self._preludes:
            self._preludes[target] = _Preludes(
                self.names.get_profile(target), partial(self.names.synced_fields, target)
            )
        return self._preludes[target].of(field)


class _Preludes:
    """The preludes of the stored codes of fields, by variable.

    A variable of a synced field is set from the attribute of this field. A variable in the code of
    another field is set as that of a synced field; if there is none, from the attribute with the
    name of the variable. Variables that the code sets have no prelude.
    """

    def __init__(self, profile: Profile, read_synced: Callable[[], Iterable[Field]]) -> None:
        """`read_synced` returns the synced fields. It is called if a variable needs one."""
        self._profile, self._read_synced = profile, read_synced

    @cached_property
    def _synced(self) -> Mapping[str, str]:
        return dict(_synced_preludes(self._profile, self._read_synced()))

    def of(self, field: Field) -> Mapping[str, str]:
        """Return the preludes that the codes of the field require."""
        codes = _derive_synced_codes(self._profile, field)
        if codes is not None:
            return {codes.value_expression.lower(): codes.prelude or ""}
        expression = field.custom_value_expression or ""
        shown = expression and self._profile.insertion.code.replace("EXPRESSION", expression)
        code = f"{field.custom_insertion_code or ''} {shown}"
        tags = self._profile.find_tags(code)
        variables = find_variables(tags, self._profile.vocabulary)
        return {
            key: self._synced.get(key) or derive(self._profile, variable[1:]).prelude or ""
            for key, variable in variables.read.items()
            if key not in variables.assigned
        }


def _derive_synced_codes(profile: Profile, field: Field) -> DerivedCodes | None:
    """Return the codes of a field that was synced from the ESP, or None for other fields."""
    if field.origin.esp_field_name is None:
        return None
    try:
        codes = derive(profile, field.origin.esp_field_name)
    except NoSafeForm:
        return None
    return codes if codes.value_expression == field.custom_value_expression else None


def _synced_preludes(profile: Profile, fields: Iterable[Field]) -> Iterator[tuple[str, str]]:
    for field in fields:
        codes = _derive_synced_codes(profile, field)
        if codes is not None:
            yield codes.value_expression.lower(), codes.prelude or ""


class _NameProposals:
    """The names to set for the fields of one organization.

    People set several of them at once: no two fields have the same proposal at a target, and no
    other field has a proposed name.
    """

    def __init__(self, names: EspNames) -> None:
        self._names = names
        self._proposed: dict[Target, Mapping[FieldId, str]] = {}

    def find(self, field: RecipientField, target: Target) -> NameProposal | None:
        """Return the name to set for the field at the integration, or None if it needs none.

        For a field without a name, it is a free one. For a field whose name the last sync did not
        find, it is the similar name that this sync found.
        """
        proposed = self.at(target).get(field.id)
        if isinstance(target, Esp) or proposed is None:
            return None
        return NameProposal(target, field.key, proposed)

    def explain_absence(self, field: RecipientField, target: Target) -> str:
        """Return the sentences that say why the field has no ESP name, and what helps."""
        profile, key = self._names.get_profile(target), derived_key(field)
        title, name = profile.title, profile.names.derive(key)
        if has_safe_form(profile, name):
            reason = f"At this integration, the name {name} is set for another field."
        else:
            reason = f"{title} has no safe form for the name {name}. {profile.names.rule}"
        if self._names.is_synced(target):
            reason = f"The last sync found no field for the key {key}. {reason}"
        proposed = self.at(target)[field.id]
        if isinstance(target, Esp):
            reason += f" Create an integration with {title}, and set a name such as {proposed}."
            return reason
        return f"{reason} Set a name for this field at integration {target}, such as {proposed}."

    def at(self, target: Target) -> Mapping[FieldId, str]:
        """Return the proposals at the target."""
        if target not in self._proposed:
            self._proposed[target] = self._propose(target)
        return self._proposed[target]

    def _propose(self, target: Target) -> Mapping[FieldId, str]:
        """Return the proposals at the target. API and manual fields have precedence."""
        profile, proposed = self._names.get_profile(target), dict[FieldId, str]()
        used = set[str]()
        # Keys with the same names share an iterator, so that thousands of them take linear time.
        free: dict[str, Iterator[str]] = {}
        fields = sorted(self._names.fields, key=lambda each: each.origin.integration_id is not None)
        for field in fields:
            name, key = self._names.find(field, target), derived_key(field)
            names: Iterator[str] = iter(())
            if name is None:
                names = free.setdefault(profile.names.shorten(key), possible_names(profile, key))
                names = (each for each in names if not self._names.is_taken(each, target))
            elif name.state in {NameState.MISSING, NameState.UNKNOWN}:
                names = iter(self._names.find_similar(field, target))
            chosen = next((each for each in names if each not in used), None)
            if chosen is not None:
                proposed[field.id] = chosen
                used.add(chosen)
        return proposed


def possible_names(profile: Profile, key: str) -> Iterator[str]:
    """Yield names for the key that have a safe form, without an end.

    The first is the name that the convention derives, shortened if necessary. The others have a
    number: `LOYALTY_TI`, `LOYALTY_2`.
    """
    shorten = profile.names.shorten
    names = chain([shorten(key)], (shorten(key, f"_{number}") for number in count(2)))
    return (name for name in names if has_safe_form(profile, name))
