"""Matching: which fields of an ESP the fields of an organization are, and why."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Mapping
from enum import Enum

from attrs import frozen

from ..esp.names import EspName, NameState
from ..fields.field import RecipientField
from ..fields.values import name_letters
from ..identity import IntegrationId
from .esp_names import EspNames, derived_key
from .integration import SetName

__all__ = ["MatchReason", "NameMatch"]


class MatchReason(Enum):
    """Why a field of the ESP is proposed, the best reason first. The values are for people."""

    SAME_NAME = "same name"
    STANDARD_FIELD = "standard field"
    SIMILAR_NAME = "similar name"
    SAME_VALUES = "same type and values"
    NOT_FOUND = "not found"
    SET = "set already"


@frozen(kw_only=True)
class NameMatch:
    """The name that is proposed for a field at an integration, or that is set already.

    `esp_name` is None if no field of the ESP was found. Then `creation` says how to create it, or
    is None if no sync has listed the fields of the ESP.
    """

    field: RecipientField
    reason: MatchReason
    esp_name: EspName | None = None
    creation: str | None = None

    @property
    def is_exact(self) -> bool:
        """Whether the proposal needs no decision of a person."""
        return self.reason in {MatchReason.SAME_NAME, MatchReason.STANDARD_FIELD}

    @property
    def proposed(self) -> SetName | None:
        """The name to set, or None if there is no proposal."""
        is_set = self.reason is MatchReason.SET
        return None if self.esp_name is None or is_set else SetName(self.esp_name.name)

    def describe(self) -> str:
        """Return the reason, with the data type at the ESP if it is another one."""
        if self.esp_name is None and self.creation is None:
            return "not synced yet"
        found = None if self.esp_name is None else self.esp_name.counterpart
        if found is None or found.data_type is self.field.data_type:
            return self.reason.value
        return f"{self.reason.value}, with the type {found.data_type.value}"


def match_names(names: EspNames, integration_id: IntegrationId) -> tuple[NameMatch, ...]:
    """Return a match for each field for which people set names, by reason and key.

    A name is proposed once: for the field with the best reason, and of several, for one that is not
    synced. Names are similar if they, or the names that people see, have the same letters.
    Raises: IntegrationNotFound if there is no such integration, MissingProfile if its ESP has no
    profile.
    """
    convention = names.get_profile(integration_id).names
    set_names = names.integrations[integration_id].names
    fields = sorted(
        names.fields_to_name(integration_id),
        key=lambda each: each.origin.integration_id is not None,
    )
    matches = {
        field.key: NameMatch(
            field=field, reason=MatchReason.SET, esp_name=names.find(field, integration_id)
        )
        for field in fields
        if field.id in set_names
    }
    chosen = {each.esp_name.name for each in matches.values() if each.esp_name is not None}
    candidates = _Candidates(names, integration_id, fields, chosen)
    for reason in MatchReason:
        for field in fields:
            name = None if field.key in matches else candidates.choose(field, reason)
            if name is not None:
                matches[field.key] = NameMatch(field=field, reason=reason, esp_name=name)
    for field in fields:
        if field.key not in matches:
            creation = None
            if names.is_synced(integration_id):
                creation = convention.creation.explain(convention.shorten(derived_key(field)))
            not_found = NameMatch(field=field, reason=MatchReason.NOT_FOUND, creation=creation)
            matches[field.key] = not_found
    order = list(MatchReason)
    return tuple(
        sorted(matches.values(), key=lambda each: (order.index(each.reason), each.field.key))
    )


class _Candidates:
    """The names at an integration that can be chosen for one field each."""

    def __init__(
        self,
        names: EspNames,
        integration_id: IntegrationId,
        fields: Iterable[RecipientField],
        chosen: set[str],
    ) -> None:
        self._names, self._target, self._chosen = names, integration_id, chosen
        self._convention = names.get_profile(integration_id).names
        synced = names.synced_fields(integration_id)
        by_letters: dict[Hashable, list[str]] = {}
        for each in synced:
            name = str(each.origin.esp_field_name)
            for letters in {name_letters(name), name_letters(each.name)} - {""}:
                by_letters.setdefault((letters, each.data_type), []).append(name)
                by_letters.setdefault(letters, []).append(name)
        # Fields with the same letters share an iterator, so that thousands take linear time.
        self._by_letters = {key: iter(found) for key, found in by_letters.items()}
        with_values = _by_values(synced)
        self._by_values = {
            field.key: str(with_values[values].origin.esp_field_name)
            for values, field in _by_values(fields).items()
            if values in with_values
        }

    def choose(self, field: RecipientField, reason: MatchReason) -> EspName | None:
        """Return the first name for this reason that was not chosen yet, or None."""
        for text in self._find(field, reason):
            name = self._names.describe(SetName(text), self._target)
            is_unlisted = reason is MatchReason.STANDARD_FIELD and name.state is NameState.UNKNOWN
            if text not in self._chosen and (name.counterpart is not None or is_unlisted):
                self._chosen.add(text)
                return name
        return None

    def _find(self, field: RecipientField, reason: MatchReason) -> Iterator[str]:
        key, own_name = derived_key(field), field.origin.esp_field_name
        if reason is MatchReason.SAME_NAME:
            yield from filter(None, (own_name, key, self._convention.derive(key)))
        elif reason is MatchReason.STANDARD_FIELD:
            keys, own = {key}, field.origin.integration_id
            if own is not None and own in self._names.with_profile:
                keys |= self._names.get_profile(own).names.keys_of(str(own_name))
            standard = self._convention.standard_fields
            yield from (standard[each] for each in sorted(keys) if each in standard)
        elif reason is MatchReason.SIMILAR_NAME:
            similar = (key, own_name or "", field.name, self._convention.shorten(key))
            for letters in dict.fromkeys(map(name_letters, similar)):
                yield from self._by_letters.get((letters, field.data_type), ())
                yield from self._by_letters.get(letters, ())
        elif reason is MatchReason.SAME_VALUES and field.key in self._by_values:
            yield self._by_values[field.key]


def _by_values(fields: Iterable[RecipientField]) -> Mapping[Hashable, RecipientField]:
    """Return the fields with allowed values that no other of them has, by type and values."""
    found: dict[Hashable, list[RecipientField]] = {}
    for each in fields:
        if each.allowed_values is not None:
            values = each.data_type, frozenset(each.allowed_values.values)
            found.setdefault(values, []).append(each)
    return {values: each[0] for values, each in found.items() if len(each) == 1}
