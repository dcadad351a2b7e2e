"""Proposals: names to set for fields that have none at an integration, or one that is not there."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import chain, count

from ..esp.derived_codes import has_safe_form
from ..esp.errors import NameProposal
from ..esp.esps import Esp
from ..esp.names import NameState, Target
from ..esp.profiles.profile import Profile
from ..fields.field import RecipientField
from ..identity import FieldId
from .esp_names import EspNames, derived_key


class NameProposals:
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
        proposed = self._at(target).get(field.id)
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
        proposed = self._at(target)[field.id]
        if isinstance(target, Esp):
            reason += f" Create an integration with {title}, and set a name such as {proposed}."
            return reason
        return f"{reason} Set a name for this field at integration {target}, such as {proposed}."

    def _at(self, target: Target) -> Mapping[FieldId, str]:
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
