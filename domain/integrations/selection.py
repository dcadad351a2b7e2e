"""The part of a catalog from which the ESP names and codes of some fields are known."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property
from typing import NoReturn

from attrs import evolve, field, frozen
from attrs.converters import optional

from ..arguments import require_type
from ..esp.names import Esp, Target
from ..esp.profiles import BUILT_IN, Profiles
from ..esp.profiles.profile import Names
from ..fields.field import Catalog, FieldReference, RecipientField
from ..fields.query_members import possible_ids, possible_keys
from ..fields.values import FieldKey, name_letters
from ..identity import FieldId, IntegrationId
from .esp_names import EspNames, derived_key
from .integration import Integration

__all__ = ["NamesQuery", "RelatedFields"]


class CatalogRequired(Exception):
    """What was requested depends on other fields or integrations than those that were selected.

    Suggestions, proposals and explanations do. Read the whole catalog, and request it again.
    """


def _field_ids(values: Iterable[int]) -> frozenset[FieldId]:
    return frozenset(map(FieldId, possible_ids(values, "field_ids")))


def _targets(values: Iterable[Target | str]) -> frozenset[Target]:
    require_type(Iterable, targets=values)
    targets = [Esp(each) if isinstance(each, str) else each for each in values]
    for target in targets:
        require_type(Esp | int, target=target)
    return frozenset(targets)


@frozen(kw_only=True)
class NamesQuery:
    """A query: the fields with these ids or keys, and what their names at the targets depend on.

    A target is an integration, or an ESP: then all integrations with it. If `targets` is None, they
    are all integrations. An ESP can be given by name. Ids and keys that no field can have are valid
    and match nothing; the query omits them. `profiles` are those of all ESPs.

    Raises: ValueError if a text can't be the name of an ESP; InvalidQuery or TypeError if another
    value has the wrong type.
    """

    field_ids: frozenset[FieldId] = field(converter=_field_ids, default=())
    keys: frozenset[FieldKey] = field(converter=possible_keys, default=())
    targets: frozenset[Target] | None = field(converter=optional(_targets), default=None)
    profiles: Profiles = field(default=BUILT_IN, eq=False, repr=False)

    @classmethod
    def of_field(cls, reference: FieldReference, profiles: Profiles = BUILT_IN) -> NamesQuery:
        """Return the query for the field with this id or key, at all integrations."""
        if isinstance(reference, str):
            return cls(keys=[reference], profiles=profiles)
        return cls(field_ids=[reference], profiles=profiles)

    @property
    def integration_ids(self) -> frozenset[IntegrationId]:
        """The ids among the targets."""
        ids = (each for each in self.targets or () if not isinstance(each, Esp))
        return frozenset(map(IntegrationId, possible_ids(ids, "targets")))

    @property
    def esps(self) -> frozenset[Esp]:
        """The ESPs among the targets."""
        return frozenset(each for each in self.targets or () if isinstance(each, Esp))

    def names(self, stored: RecipientField) -> bool:
        """Return whether the query names the field, by its id or key."""
        return stored.id in self.field_ids or stored.key in self.keys

    def targets_integration(self, integration: Integration) -> bool:
        """Return whether the integration is a target."""
        if self.targets is None:
            return True
        return integration.id in self.integration_ids or integration.esp in self.esps

    def select(
        self, catalog: Catalog, integrations: Iterable[Integration]
    ) -> tuple[Catalog, tuple[Integration, ...]]:
        """Return the fields and the integrations that the query selects, in the same order.

        The arguments are all of the organization, or at least what the query selects.
        """
        require_type(Catalog, catalog=catalog)
        targets = tuple(filter(self.targets_integration, integrations))
        related = RelatedFields.of(filter(self.names, catalog.fields), targets, self.profiles)
        fields = (each for each in catalog.fields if self.names(each) or related.contain(each))
        return evolve(catalog, fields=tuple(fields)), targets


@frozen(kw_only=True)
class RelatedFields:
    """The fields on which the names of others at some integrations depend.

    These are the synced fields of the integrations whose names have certain `letters`, as
    `name_letters` returns them, and the fields with these ids: such names are set for them.
    """

    integration_ids: frozenset[IntegrationId]
    letters: frozenset[str]
    field_ids: frozenset[FieldId]

    @classmethod
    def of(
        cls,
        fields: Iterable[RecipientField],
        integrations: Iterable[Integration],
        profiles: Profiles,
    ) -> RelatedFields:
        """Return the fields on which the names of these fields depend."""
        fields = tuple(fields)
        # Without a profile, an integration has no names.
        integrations = [each for each in integrations if each.esp in profiles]
        names = {
            name
            for each in integrations
            for name in _possible_names(fields, each, profiles[each.esp].names)
        }
        letters = frozenset(map(name_letters, names))
        return cls(
            integration_ids=frozenset(each.id for each in integrations),
            letters=letters,
            field_ids=frozenset(
                field_id
                for each in integrations
                for field_id, set_name in each.names.items()
                if name_letters(set_name.name) in letters
            ),
        )

    def contain(self, stored: RecipientField) -> bool:
        """Return whether the field is one of them."""
        if stored.id in self.field_ids:
            return True
        origin = stored.origin
        is_synced = origin.integration_id in self.integration_ids
        return is_synced and name_letters(str(origin.esp_field_name)) in self.letters


def _possible_names(
    fields: Iterable[RecipientField], integration: Integration, convention: Names
) -> Iterator[str]:
    """Yield the names by which the fields can be found at the integration."""
    for each in fields:
        key = derived_key(each)
        yield key
        yield convention.derive(key)
        if key in convention.standard_fields:
            yield convention.standard_fields[key]
        if each.origin.esp_field_name is not None:
            yield each.origin.esp_field_name
        if each.id in integration.names:
            yield integration.names[each.id].name


class SelectedNames(EspNames):
    """The ESP names of the fields that a query selects, at the integrations that it selects.

    Every method raises CatalogRequired if its result depends on other ones.
    """

    def __init__(
        self,
        query: NamesQuery,
        fields: Iterable[RecipientField],
        integrations: Iterable[Integration],
    ) -> None:
        super().__init__(fields, integrations, query.profiles)
        self._query = query

    @cached_property
    def by_key(self) -> Mapping[str, RecipientField]:
        """The selected fields by key. Other keys raise CatalogRequired."""
        return _SelectedKeys(self._query, super().by_key)

    @property
    def integrations(self) -> Mapping[IntegrationId, Integration]:
        """All integrations, by id."""
        if self._query.targets is not None:
            self._require_all()
        return super().integrations

    def resolve_target(self, target: Target | str) -> Target:
        """Return the target as EspNames does, if the query has it."""
        if isinstance(target, str):
            target = self.profiles.parse_name(target)
        if self._query.targets is not None and target not in self._query.targets:
            self._require_all()
        return super().resolve_target(target)

    def _require_all(self) -> NoReturn:
        raise CatalogRequired


class _SelectedKeys(Mapping[str, RecipientField]):
    """The selected fields by key. Other keys, and the list of all keys, raise CatalogRequired."""

    def __init__(self, query: NamesQuery, found: Mapping[str, RecipientField]) -> None:
        self._query, self._found = query, found

    def __getitem__(self, key: str) -> RecipientField:
        if key not in self._found and key not in self._query.keys:
            raise CatalogRequired
        return self._found[key]

    def __iter__(self) -> NoReturn:
        raise CatalogRequired

    def __len__(self) -> NoReturn:
        raise CatalogRequired
