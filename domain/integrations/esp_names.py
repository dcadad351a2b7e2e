"""ESP names: what the fields of an organization are called at each of its integrations."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence, Set
from contextlib import suppress
from functools import cached_property
from itertools import chain
from re import fullmatch

from attrs import evolve

from ..arguments import require_type
from ..esp.derived_codes import derive, has_safe_form
from ..esp.errors import NoSafeForm
from ..esp.names import Esp, EspName, NameFrom, NameState, Target
from ..esp.profiles import BUILT_IN, Profiles
from ..esp.profiles.profile import Profile
from ..fields.errors import FieldNotFound
from ..fields.field import Catalog, FieldDefinition, RecipientField
from ..fields.protocol import Field
from ..fields.values import derive_key, name_letters
from ..identity import FieldId, IntegrationId
from .errors import IntegrationNotFound, IntegrationRequired
from .integration import Integration, SetName

__all__ = ["EspNames", "without_counterparts"]

_MAX_SHOWN_PLACES = 10
"""The integrations in a message."""
_MAX_SIMILAR = 10
"""The similar names of one field."""


class EspNames:
    """The ESP names of the fields of one organization.

    `fields` are all its fields and `integrations` all its integrations. Each integration is indexed
    when the first of its names is requested. Set names of other fields are ignored. Without the
    profile of its ESP, an integration has no names.
    """

    def __init__(
        self,
        fields: Iterable[RecipientField],
        integrations: Iterable[Integration],
        profiles: Profiles = BUILT_IN,
    ) -> None:
        require_type(Iterable, fields=fields, integrations=integrations)
        require_type(Profiles, profiles=profiles)
        self._fields = tuple(sorted(fields, key=lambda each: each.id))
        self._integrations = {each.id: each for each in integrations}
        self.profiles = profiles
        self._by_integration: dict[IntegrationId | None, list[RecipientField]] = {}
        for field in self._fields:
            self._by_integration.setdefault(field.origin.integration_id, []).append(field)
        self._indexes: dict[Target, _Index] = {}
        self._unused: dict[Target, Mapping[str, Sequence[str]]] = {}

    @property
    def fields(self) -> tuple[RecipientField, ...]:
        """All fields, by ascending id."""
        self._require_all()
        return self._fields

    @property
    def integrations(self) -> Mapping[IntegrationId, Integration]:
        """All integrations, by id."""
        return self._integrations

    @cached_property
    def with_profile(self) -> Sequence[IntegrationId]:
        """The ids of the integrations whose ESP has a profile, in ascending order."""
        return sorted(i for i, each in self.integrations.items() if each.esp in self.profiles)

    @property
    def by_key(self) -> Mapping[str, RecipientField]:
        """The fields by key."""
        return self._by_key

    @cached_property
    def _by_key(self) -> Mapping[str, RecipientField]:
        return {str(each.key): each for each in self._fields}

    def resolve_target(self, target: Target | str) -> Target:
        """Return the integration, or the ESP if the organization has no integration with it.

        An ESP, also as text such as "braze", means the only integration with it.
        Raises: IntegrationRequired if there are several, IntegrationNotFound if the organization
        has no such integration, ValueError if the text is that of no ESP, MissingProfile if the ESP
        of the integration has no profile.
        """
        if isinstance(target, str):
            target = self.profiles.parse_name(target)
        require_type(Esp | int, target=target)
        if not isinstance(target, Esp):
            self._index(target)
            return target
        connected = [each.id for each in self._integrations.values() if each.esp == target]
        if len(connected) > 1:
            title = self.profiles[target].title
            raise IntegrationRequired(
                f"The organization has several integrations with {title}. Choose one by its id."
            )
        return connected[0] if connected else target

    def get_field(self, field_id: FieldId) -> RecipientField:
        """Return the field with this id. Raises: FieldNotFound if there is none."""
        field = next((each for each in self.fields if each.id == field_id), None)
        if field is None:
            raise FieldNotFound
        return field

    def explain_key(self, key: str) -> str | None:
        """Return what helps if no field has the key, but synced fields are for it, or None."""
        self._require_all()
        found = {each: self._index(each).find(key) for each in self.with_profile}
        places = [
            f"{field.key} (integration {integration_id}, {self.integrations[integration_id].name})"
            for integration_id, field in found.items()
            if field is not None
        ]
        if not places:
            return None
        shown = places[:_MAX_SHOWN_PLACES]
        if len(places) > len(shown):
            shown.append(f"and {len(places) - len(shown):,} more")
        return f"Create it, or write the key of a synced field: {', '.join(shown)}."

    def find(self, field: RecipientField, target: Target) -> EspName | None:
        """Return the ESP name of the field at the target, or None if there is none."""
        index, key = self._index(target), derived_key(field)
        own_name = field.origin.esp_field_name
        if own_name is not None and field.origin.integration_id == target:
            # A key with a suffix, such as `town_1`, means only this field.
            is_ambiguous = field.key == key and index.has_rivals(key, own_name)
            return index.name_of(field, is_ambiguous=is_ambiguous)
        if field.id in index.set_names:
            return index.set_names[field.id]
        counterpart = index.find(key, own_name)
        if counterpart is not None:
            return index.name_of(
                counterpart, counterpart, is_ambiguous=index.has_choice(key, own_name)
            )
        return index.find_by_convention(key)

    def find_similar(self, field: RecipientField, target: Target) -> tuple[str, ...]:
        """Return up to 10 other names that the field could have at the target, sorted.

        The last sync found them, and they differ from the name of the field, or from its key, only
        in case, spaces and punctuation. An API or manual field can have one of them only if the
        name of this field is ambiguous.
        """
        name, index = self.find(field, target), self._index(target)
        own_name = derived_key(field) if name is None else name.name
        letters = name_letters(own_name)
        if letters not in index.by_letters:
            return ()
        is_ambiguous = name is not None and name.state is NameState.AMBIGUOUS
        names = index.by_letters if is_ambiguous else self._unused_names(target)
        others = [each for each in names[letters][: _MAX_SIMILAR + 1] if each != own_name]
        return tuple(others[:_MAX_SIMILAR])

    def _unused_names(self, target: Target) -> Mapping[str, Sequence[str]]:
        """Return the names in `by_letters` that no API or manual field has."""
        if target not in self._unused:
            in_use = {
                str(each.origin.esp_field_name)
                for each in self.synced_fields(target)
                if self._is_defined(each)
            }
            self._unused[target] = {
                letters: [each for each in names if each not in in_use]
                for letters, names in self._index(target).by_letters.items()
            }
        return self._unused[target]

    def _is_defined(self, synced: RecipientField) -> bool:
        definition = self.definition_of(synced)
        return definition is not None and definition.origin.integration_id is None

    def derive_name(self, field: Field, target: Target) -> EspName:
        """Return the name by the convention of the ESP, also if it is set for another field."""
        return self._index(target).derive_name(derived_key(field))

    def describe(self, name: SetName, target: Target) -> EspName:
        """Return what the name would mean at the target if it were set. It is not checked."""
        return self._index(target).describe(name)

    def get_profile(self, target: Target) -> Profile:
        """Return the profile of the ESP.

        Raises: IntegrationNotFound if there is no such target, MissingProfile if it has no profile.
        """
        return self._index(target).profile

    def synced_fields(self, target: Target) -> tuple[RecipientField, ...]:
        """Return the synced fields of the target, by ascending id."""
        self._require_all()
        return tuple(self._index(target).synced)

    def fields_to_name(self, integration_id: IntegrationId) -> tuple[RecipientField, ...]:
        """Return the fields for which people set names at the integration, by ascending id.

        These are all fields except its synced fields and, unless a name is set for them, those for
        which another field stands.
        """
        named = self.integrations[integration_id].names
        return tuple(
            field
            for field in self.fields
            if field.origin.integration_id != integration_id
            and (field.id in named or self.definition_of(field) is None)
        )

    def counterparts(self, field: RecipientField) -> Mapping[IntegrationId, Field]:
        """Return the counterparts for which the field stands in lists, by integration.

        An API or manual field stands for all its counterparts. Of the synced fields of different
        integrations with the same derived key, for which no API or manual field exists, one stands
        for those that are its counterparts.
        """
        self._require_all()
        return self._counterparts.get(field.id, {})

    def definition_of(self, field: Field) -> RecipientField | None:
        """Return the field that stands for this synced field in lists, or None.

        If there are several, this is the one whose key is derived from the name of the synced
        field, or else the one with the lowest id.
        """
        return self._definitions.get(field.id)

    @cached_property
    def definitions(self) -> Mapping[str, str]:
        """The keys of the fields that stand for synced fields in lists, by the keys of these."""
        by_id = {field.id: field for field in self.fields}
        return {
            str(by_id[field_id].key): str(definition.key)
            for field_id, definition in self._definitions.items()
        }

    def keys_by_name(self, integration_id: IntegrationId) -> Mapping[str, str]:
        """Return the keys of the fields with each ESP name at an integration.

        The name of a synced field means the field that stands for it. If two fields without a
        synced one have the same name, it means neither.
        """
        synced = self._by_integration.get(integration_id, ())
        keys = {
            str(each.origin.esp_field_name): self.definitions.get(each.key, str(each.key))
            for each in synced
        }
        if integration_id not in self.integrations:
            return keys
        others: dict[str, list[str]] = {}
        for field in self.fields:
            name = None if field.key in self.definitions else self.find(field, integration_id)
            if name is not None and name.name not in keys:
                others.setdefault(name.name, []).append(str(field.key))
        return {**keys, **{name: each[0] for name, each in others.items() if len(each) == 1}}

    def is_synced(self, target: Target) -> bool:
        """Return whether a sync has listed the names at the target."""
        return self._index(target).is_synced

    def is_taken(self, name: str, target: Target) -> bool:
        """Return whether a field has this name at the target, or whether it is listed there."""
        index = self._index(target)
        if name in index.listed_names or index.is_set(name):
            return True
        keys = index.profile.names.keys_of(name)
        fields = chain.from_iterable(self._by_derived_key.get(key, ()) for key in keys)
        found = (self.find(field, target) for field in fields)
        return any(each is not None and each.name == name for each in found)

    def _require_all(self) -> None:
        """Do nothing, because these are the names of all fields at all integrations."""

    @cached_property
    def _by_derived_key(self) -> Mapping[str, list[RecipientField]]:
        by_key: dict[str, list[RecipientField]] = {}
        for field in self.fields:
            by_key.setdefault(derived_key(field), []).append(field)
        return by_key

    def _index(self, target: Target) -> _Index:
        if target not in self._indexes:
            if isinstance(target, Esp):
                self._indexes[target] = _Index(self.profiles[target])
            elif target in self._integrations:
                integration = self._integrations[target]
                known = {field.id for field in self._fields}
                set_names = {i: name for i, name in integration.names.items() if i in known}
                synced = self._by_integration.get(target, ())
                self._indexes[target] = _Index(
                    self.profiles[integration.esp], synced, integration, set_names
                )
            else:
                raise IntegrationNotFound
        return self._indexes[target]

    @cached_property
    def _counterparts(self) -> Mapping[FieldId, Mapping[IntegrationId, Field]]:
        defined = self._by_integration.get(None, [])
        found = {field.id: dict(self._find_counterparts(field)) for field in defined}
        served = {each.id for each in chain.from_iterable(map(dict.values, found.values()))}
        groups: dict[str, list[RecipientField]] = {}
        for integration_id in self.with_profile:
            for field in self._by_integration.get(integration_id, ()):
                if field.id not in served:
                    groups.setdefault(derived_key(field), []).append(field)
        for key, group in groups.items():
            holder = self.by_key.get(key)
            if holder is not None and holder.origin.integration_id is None:
                continue
            members = {each.id for each in group}
            if holder is not None and holder.id in members:
                stand_in = holder
            else:
                stand_in = min(group, key=lambda each: each.id)
            found[stand_in.id] = {
                integration_id: counterpart
                for integration_id, counterpart in self._find_counterparts(stand_in)
                if counterpart.id in members
            }
        return found

    @cached_property
    def _definitions(self) -> Mapping[FieldId, RecipientField]:
        by_id = {field.id: field for field in self.fields}
        definitions: dict[FieldId, RecipientField] = {}
        for field_id in sorted(self._counterparts):
            definition = by_id[field_id]
            for counterpart in self._counterparts[field_id].values():
                if definition.key == derived_key(counterpart):
                    definitions[counterpart.id] = definition
                else:
                    definitions.setdefault(counterpart.id, definition)
        return definitions

    def _find_counterparts(self, field: RecipientField) -> Iterator[tuple[IntegrationId, Field]]:
        for integration_id in self.with_profile:
            if integration_id != field.origin.integration_id:
                counterpart = self._find_counterpart(field, self._index(integration_id))
                if counterpart is not None:
                    yield integration_id, counterpart

    def _find_counterpart(self, field: RecipientField, index: _Index) -> Field | None:
        if field.id in index.set_names:
            return index.set_names[field.id].counterpart
        return index.find(derived_key(field), field.origin.esp_field_name)


def without_counterparts(
    catalog: Catalog, integrations: Iterable[Integration], profiles: Profiles = BUILT_IN
) -> Catalog:
    """Return the catalog without the synced fields for which another of its fields stands.

    `integrations` are all of the organization.
    """
    require_type(Catalog, catalog=catalog)
    names = EspNames(catalog.fields, integrations, profiles)
    shown = (each for each in names.fields if names.definition_of(each) is None)
    return evolve(catalog, fields=tuple(shown))


def is_standard(profile: Profile, field: FieldDefinition) -> bool:
    """Return whether the synced field is one of the ESP's own fields with a form of their own."""
    name = str(field.origin.esp_field_name)
    if not any(fullmatch(form.pattern, name) for form in profile.names.standard_forms):
        return False
    with suppress(NoSafeForm):
        standard = derive(profile, name, standard=True)
        return field.custom_value_expression == standard.value_expression
    return False


def derived_key(field: Field) -> str:
    """Return the key from which the field's ESP names are derived.

    A synced field has the key that is derived from its name at its own ESP, even if its key has a
    suffix because that key was taken.
    """
    name = field.origin.esp_field_name
    return str(field.key) if name is None else derive_key(name) or str(field.key)


class _Index:
    """The names at one integration, indexed, or at an ESP without an integration.

    Each part is built when it is first used.
    `find` and `find_by_convention` skip the names that are set: they are called for fields without
    a set name only, so each of these names is set for another field.
    """

    def __init__(
        self,
        profile: Profile,
        synced: Collection[RecipientField] = (),
        integration: Integration | None = None,
        set_names: Mapping[FieldId, SetName] | None = None,
    ) -> None:
        self.profile, self.synced = profile, synced
        self.is_synced = integration is not None and integration.last_synced_at is not None
        self._lists_all_fields = self.is_synced and not profile.names.lists_fields_in_use_only
        self._convention = profile.names
        self._refused_names = frozenset(integration.refused_names if integration else ())
        self.set_names: Mapping[FieldId, EspName] = {
            field_id: self.describe(set_name) for field_id, set_name in (set_names or {}).items()
        }
        self._conventional: dict[str, EspName | None] = {}
        self._set_forms: dict[str, set[bool]] = {}
        for each in self.set_names.values():
            self._set_forms.setdefault(each.name, set()).add(each.standard)

    @cached_property
    def _by_name(self) -> Mapping[str, Sequence[RecipientField]]:
        by_name: dict[str, list[RecipientField]] = {}
        for field in self.synced:
            by_name.setdefault(str(field.origin.esp_field_name), []).append(field)
        for fields in by_name.values():
            if len(fields) > 1:  # the standard field first
                fields.sort(key=lambda field: (not is_standard(self.profile, field), field.id))
        return by_name

    @cached_property
    def _free_by_name(self) -> Mapping[str, RecipientField]:
        found = {
            name: next(filter(self._is_free, each), None) for name, each in self._by_name.items()
        }
        return {name: free for name, free in found.items() if free is not None}

    @cached_property
    def _free_by_key(self) -> Mapping[str, Sequence[RecipientField]]:
        by_key: dict[str, list[RecipientField]] = {}
        for field in filter(self._is_free, self.synced):
            by_key.setdefault(derive_key(str(field.origin.esp_field_name)), []).append(field)
        return by_key

    @cached_property
    def _names_by_key(self) -> Mapping[str, Set[str]]:
        return {
            key: {str(each.origin.esp_field_name) for each in fields}
            for key, fields in self._free_by_key.items()
        }

    @cached_property
    def by_letters(self) -> Mapping[str, Sequence[str]]:
        """The sorted names that are not set for a field, by their letters and digits."""
        by_letters: dict[str, list[str]] = {}
        for name in sorted(self._free_by_name):
            by_letters.setdefault(name_letters(name), []).append(name)
        return by_letters

    @property
    def listed_names(self) -> frozenset[str]:
        """The names that the last sync listed."""
        return self._refused_names.union(self._by_name)

    def find(self, key: str, own_name: str | None = None) -> RecipientField | None:
        """Return the synced field for the key, or for the name at another ESP, or None."""
        exact = self._find_exact(key, own_name)
        return exact or next(iter(self._free_by_key.get(key, ())), None)

    def has_choice(self, key: str, own_name: str | None) -> bool:
        """Return whether the field that `find` returns is one of several without an exact name."""
        return self._find_exact(key, own_name) is None and len(self._names_by_key[key]) > 1

    def has_rivals(self, key: str, name: str) -> bool:
        """Return whether the key could also mean another field than the one with this name."""
        names = self._names_by_key.get(key, frozenset())
        exact = next(filter(names.__contains__, (key, self._convention.derive(key))), None)
        return name != exact and not names <= {name}

    def _find_exact(self, key: str, own_name: str | None) -> RecipientField | None:
        convention = self._convention
        names = (own_name, key, convention.standard_fields.get(key), convention.derive(key))
        found = (self._free_by_name.get(name) for name in names if name is not None)
        return next(filter(None, found), None)

    def find_by_convention(self, key: str) -> EspName | None:
        """Return the name by the convention of the ESP, or None if it is set or has no form."""
        if key not in self._conventional:
            self._conventional[key] = self._find_by_convention(key)
        return self._conventional[key]

    def _find_by_convention(self, key: str) -> EspName | None:
        for name in (self._convention.standard_fields.get(key), self._convention.derive(key)):
            if name is None:
                continue
            standard = self._is_standard_name(name)
            is_set = standard in self._set_forms.get(name, ())
            if not is_set and has_safe_form(self.profile, name, standard=standard):
                return self._with_state(name, NameFrom.CONVENTION, standard=standard)
        return None

    def derive_name(self, key: str) -> EspName:
        """Return the name by the convention of the ESP. It is not checked."""
        convention = self._convention
        name = convention.standard_fields.get(key) or convention.derive(key)
        return EspName(
            name=name,
            standard=self._is_standard_name(name),
            name_from=NameFrom.CONVENTION,
            state=NameState.UNKNOWN,
        )

    def name_of(
        self,
        synced: RecipientField,
        counterpart: RecipientField | None = None,
        *,
        is_ambiguous: bool,
    ) -> EspName:
        """Return the name of the synced field."""
        return EspName(
            name=str(synced.origin.esp_field_name),
            standard=is_standard(self.profile, synced),
            name_from=NameFrom.SYNC,
            state=NameState.AMBIGUOUS if is_ambiguous else NameState.FOUND,
            counterpart=counterpart,
        )

    def is_set(self, name: str) -> bool:
        """Return whether the name is set for a field."""
        return name in self._set_forms

    def describe(self, set_name: SetName) -> EspName:
        """Return the name as that of a field for which it is set."""
        fields = self._by_name.get(set_name.name, [])
        if set_name.custom:
            standard = False
        elif fields:
            standard = is_standard(self.profile, fields[0])
        else:
            standard = self._is_standard_name(set_name.name)
        counterparts = (each for each in fields if is_standard(self.profile, each) is standard)
        return self._with_state(
            set_name.name,
            NameFrom.INTEGRATION,
            standard=standard,
            counterpart=next(counterparts, None),
        )

    def _is_free(self, field: RecipientField) -> bool:
        forms = self._set_forms.get(str(field.origin.esp_field_name))
        return forms is None or is_standard(self.profile, field) not in forms

    def _is_standard_name(self, name: str) -> bool:
        has_form = bool(self.profile.names.standard_forms)
        return has_form and name in self._convention.standard_fields.values()

    def _with_state(
        self,
        name: str,
        name_from: NameFrom,
        *,
        standard: bool,
        counterpart: RecipientField | None = None,
    ) -> EspName:
        is_unlisted = name in self._convention.unlisted and standard is self._is_standard_name(name)
        state = NameState.MISSING
        if counterpart is not None or name in self._refused_names:
            state = NameState.FOUND
        elif not self._lists_all_fields or is_unlisted:
            state = NameState.UNKNOWN
        return EspName(
            name=name,
            standard=standard,
            name_from=name_from,
            state=state,
            counterpart=counterpart,
        )
