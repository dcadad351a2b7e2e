"""Sync runs: they update the fields of an integration to what its ESP reports."""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Mapping, Sequence, Set
from contextlib import suppress
from datetime import datetime
from functools import partial
from hashlib import sha256
from itertools import count
from operator import attrgetter
from typing import TypeAlias

from attrs import evolve, field, frozen

from ..arguments import require_type
from ..errors import InvalidField, InvalidInput, RecipientFieldsError
from ..esp.derived_codes import derive, find_clashes
from ..esp.names import EspName
from ..esp.profiles import BUILT_IN, Profiles
from ..esp.profiles.profile import Profile
from ..fields.catalog_changes import CatalogChanges, require_room
from ..fields.field import FieldDefinition, FieldDraft, RecipientField
from ..fields.history import Change, RecordedOperation
from ..fields.members import IMMUTABLE_MEMBERS, WRITABLE_MEMBERS
from ..fields.values import (
    MAX_KEY_LENGTH,
    RESERVED_PREFIX,
    DataType,
    FieldKey,
    derive_key,
)
from ..identity import IntegrationId
from ..text import replace_unstorable, to_line
from .changes import Link, effect_of, find_links, names_after, plan_name_changes
from .details import find_allowed_values, find_name
from .errors import EmptyReport, SyncOvertaken
from .esp_names import EspNames, is_standard
from .integration import Integration, NamedField

__all__ = [
    "EspField",
    "FieldCaveat",
    "RefusedField",
    "RemovalsNotConfirmed",
    "ReportedField",
    "SyncNotConfirmed",
    "SyncPlan",
    "SyncPlanChanged",
    "SyncRun",
]


@frozen(kw_only=True)
class EspField:
    """A field as its ESP reports it.

    `name` is the name that the ESP's templates use, and `label` the name that its users see.
    `standard` is true for the ESP's own fields, if its dialect writes them differently from custom
    fields. `default` is the value that the ESP itself has for contacts without a value, if any.
    `caveats` are sentences about details that are not as the ESP documents them.

    A label or allowed values that a recipient field can't have are a caveat of the sync: it stores
    the field without them.
    """

    name: str
    data_type: DataType
    label: str | None = None
    allowed_values: Sequence[object] | None = None
    standard: bool = False
    default: str | None = None
    caveats: Sequence[str] = ()


@frozen
class RefusedField:
    """A field of the ESP that the sync does not store, and a message with the reason."""

    name: str = field(converter=replace_unstorable)
    reason: str


@frozen
class FieldCaveat:
    """A field of the ESP that the sync stores, and what its user should know about it.

    This is a detail that the sync does not store, or what the ESP can do with it in an email.
    """

    name: str
    message: str


ReportedField: TypeAlias = EspField | RefusedField
"""An item of an ESP's report: a field, or one that can't be a recipient field."""


@frozen(kw_only=True)
class SyncPlan:
    """The changes that a run makes to an organization's catalog, and the fields that it refuses.

    The created fields have their final keys. A stored field that is refused does not change.
    `integration` is the integration after the run. `links` are the new fields for which another
    field stands. `name_changes` are the changes of the ESP names of other fields, and of ambiguous
    ones. `caveats` are about accepted fields, whether they change or not. `changes_refusals` is
    whether it can change why another field has no name at the integration.
    """

    integration: Integration
    changes: CatalogChanges[FieldDefinition]
    unchanged: int
    refused: tuple[RefusedField, ...]
    links: tuple[Link, ...] = ()
    name_changes: tuple[Change[NamedField[EspName]], ...] = ()
    caveats: tuple[FieldCaveat, ...] = ()
    changes_refusals: bool = False

    @property
    def created(self) -> tuple[FieldDefinition, ...]:
        """The new fields, with those in `links`."""
        return self.changes.created

    @property
    def standalone(self) -> tuple[FieldDefinition, ...]:
        """The new fields for which no other field stands."""
        linked = {each.counterpart.key for each in self.links}
        return tuple(each for each in self.created if each.key not in linked)

    @property
    def updated(self) -> tuple[RecipientField, ...]:
        """The changed fields with their new values."""
        return tuple(update.field for update in self.changes.updated)

    @property
    def removed(self) -> tuple[RecipientField, ...]:
        """The deleted fields."""
        return self.changes.deleted

    @property
    def changes_catalog(self) -> bool:
        """Whether the run changes any field, or what the codes of any field show."""
        changes = self.changes != CatalogChanges()
        return changes or bool(self.name_changes) or self.changes_refusals

    @property
    def digest(self) -> str:
        """The SHA-256 of the changes without their times, as hexadecimal digits.

        A plan that is made again, even by another process, has the same digest if it makes the same
        changes to the same versions of the same fields.
        """
        effect = (
            [each.version_tag for each in self.removed],
            [
                (before.version_tag, _members(after))
                for before, after in (each.states for each in self.changes.updated)
            ],
            [(each.origin, _members(each)) for each in self.created],
            [effect_of(each) for each in self.name_changes],
        )
        return sha256(repr(effect).encode()).hexdigest()

    def require_confirmed(self, digest: str | None, *, max_removals: int | None) -> None:
        """Check that a caller has confirmed this plan.

        `digest` is that of the confirmed plan. None means that no plan was shown. `max_removals` is
        the number of fields that may be removed. None permits any number.

        Raises, in this order: SyncPlanChanged if the digest is that of another plan;
        RemovalsNotConfirmed if this plan removes more fields.
        """
        if digest is not None and digest != self.digest:
            raise SyncPlanChanged(self)
        if max_removals is not None and len(self.removed) > max_removals:
            raise RemovalsNotConfirmed(self)


class SyncNotConfirmed(RecipientFieldsError):
    """The caller has not confirmed `plan`, which is what the sync run would change now."""

    def __init__(self, plan: SyncPlan, message: str) -> None:
        self.plan = plan
        super().__init__(message)


class RemovalsNotConfirmed(SyncNotConfirmed):
    """The plan of a sync run removes more fields than the caller permits."""

    def __init__(self, plan: SyncPlan) -> None:
        count = f"{len(plan.removed):,}"
        super().__init__(plan, f"The sync would remove more fields than are permitted: {count}.")


class SyncPlanChanged(SyncNotConfirmed):
    """The plan of a sync run differs from the plan that the caller has confirmed."""

    def __init__(self, plan: SyncPlan) -> None:
        super().__init__(plan, "The fields or the report have changed since the plan was shown.")


_members = attrgetter(*WRITABLE_MEMBERS, *IMMUTABLE_MEMBERS)
"""Returns the members of a field that a sync run can set."""

_PLACEHOLDER_KEY = FieldKey("any")
"""The key of a reported field: a stored field keeps its key, and a new one gets the first free."""

_Match: TypeAlias = tuple[FieldDefinition, RecipientField | None]
"""A field of the ESP, and the stored field that it updates, if there is one."""


@frozen
class SyncRun:
    """The report of an ESP at one time, validated, and ready for comparison with a catalog."""

    _at: datetime
    _valid: tuple[FieldDefinition, ...]
    _refused: tuple[RefusedField, ...]
    _repeated: tuple[RefusedField, ...]
    _caveats: Mapping[object, Sequence[FieldCaveat]]
    _profiles: Profiles

    @classmethod
    def from_report(
        cls,
        integration: Integration,
        reported: Iterable[ReportedField],
        *,
        at: datetime,
        allow_empty: bool = True,
        profiles: Profiles = BUILT_IN,
    ) -> SyncRun:
        """Return the run of the integration that began at this time.

        A field is refused if its dialect has no safe form for its name, or if the report already
        contains it. Its other details can't make it unusable: what it can't have is a caveat.

        Raises: EmptyReport if the report has no fields, not even refused ones, unless
        `allow_empty` is true; MissingProfile if the ESP has no profile.
        """
        require_type(Integration, integration=integration)
        require_type(Profiles, profiles=profiles)
        profile = profiles[integration.esp]
        valid: dict[object, FieldDefinition] = {}
        caveats: dict[object, Sequence[FieldCaveat]] = {}
        refused, repeated = [], []
        for each in reported:
            if isinstance(each, RefusedField):
                refused.append(each)
                continue
            try:
                candidate, sentences = _validate(each, profile, integration, at)
            except InvalidInput as invalid:
                refused.append(RefusedField(each.name, _reason(invalid)))
                continue
            identity = esp_identity(candidate)
            if valid.setdefault(identity, candidate) is not candidate:
                repeated.append(RefusedField(each.name, "The ESP reports this field twice."))
            else:
                caveats[identity] = [FieldCaveat(each.name, sentence) for sentence in sentences]
        if not (allow_empty or valid or refused):
            raise EmptyReport
        ordered = tuple(sorted(valid.values(), key=partial(_precedence, profile)))
        return cls(at, ordered, tuple(refused), tuple(repeated), caveats, profiles)

    def plan(
        self,
        integration: Integration,
        catalog: Iterable[RecipientField],
        *,
        integrations: Iterable[Integration] = (),
        size_limit: int | None = None,
        keep_missing: bool = False,
    ) -> SyncPlan:
        """Return the changes to the integration and to the fields of its organization.

        `integrations` are those of the organization, for the changes of ESP names at them.
        `keep_missing`: the plan removes no fields.
        `size_limit` is the maximum of the bytes of the list of its fields. New fields have no ids
        yet, so the greatest one is counted for each.
        Raises: SyncOvertaken if a run that began later has been stored; CatalogTooLarge if the
        changes increase the size of the list, and exceed the limit.
        """
        if integration.last_synced_at is not None and integration.last_synced_at > self._at:
            raise SyncOvertaken
        profile = self._profiles[integration.esp]
        fields, channel = tuple(catalog), integration.channel
        stored = integration.filter_fields(fields)
        refused_names = {each.name for each in self._refused}
        with_key, without_key = _split_by_key(integration, self._valid, stored)
        clashes = tuple(_refuse_clashes(profile, stored, with_key, refused_names))
        clashing_names = {each.name for each in clashes}
        refused_names |= clashing_names
        accepted = [each for each in with_key if each.origin.esp_field_name not in clashing_names]
        matches = _match_stored(accepted, stored, refused_names)
        refused = [*self._refused, *self._repeated, *without_key, *clashes]

        removed: tuple[RecipientField, ...] = ()
        if not (keep_missing or profile.names.lists_fields_in_use_only):
            removed = _unreported(stored, matches, refused_names)
        updates = [
            Change(
                RecordedOperation.UPDATED,
                before,
                before.updated_from(each, by=channel, at=self._at),
            )
            for each, before in matches
            if before is not None
        ]
        updated = tuple(each for each in updates if each.after is not each.before)

        taken = {each.key for each in fields} - {each.key for each in removed}
        new = [each for each, before in matches if before is None]
        created, not_created = _with_free_keys(new, taken, integration.id)
        accepted_now = {esp_identity(each) for each, before in matches if before is not None}
        accepted_now.update(map(esp_identity, created))
        changes = CatalogChanges.of(deleted=removed, updated=updated, created=created)
        if size_limit is not None:
            size = sum(each.size for each in fields)
            require_room(lambda: size, added=changes.max_added_size(), limit=size_limit)
        refused = [*refused, *not_created]
        synced = integration.synced(self._at, {each.name for each in refused})
        names = EspNames(fields, [*integrations, integration], self._profiles)
        after = names_after(names, synced, changes)
        return SyncPlan(
            integration=synced,
            changes=changes,
            unchanged=len(updates) - len(updated),
            refused=tuple(refused),
            links=tuple(find_links(after, changes.created)),
            name_changes=plan_name_changes(names, after, synced.id, changes),
            caveats=tuple(
                caveat
                for identity, caveats in self._caveats.items()
                if identity in accepted_now
                for caveat in caveats
            ),
            changes_refusals=(
                integration.last_synced_at is None
                or integration.refused_names != synced.refused_names
            ),
        )


_SHOWN_DEFAULT = 60
"""Characters of a default that a caveat shows."""


def _describe_default(profile: Profile, default: str) -> str:
    shown = to_line(default, max_length=_SHOWN_DEFAULT)
    return (
        f'{profile.title} has its own default, "{shown}", which can appear for a missing value,'
        " also if the content has another default."
    )


_NO_KEY = (
    "No key can be derived from this name. Rename the field in the ESP: use letters a-z and"
    f" digits 0-9, with or without accents, and do not begin with {RESERVED_PREFIX}."
)


def _reason(invalid: InvalidInput) -> str:
    """Return the messages of the error, without the path `name`: reports show it with the name."""
    violations = [evolve(v, path=()) if v.path == ("name",) else v for v in invalid.violations]
    return str(InvalidInput(violations))


def _validate(
    reported: EspField, profile: Profile, integration: Integration, at: datetime
) -> tuple[FieldDefinition, Sequence[str]]:
    """Return the definition of the ESP's field, and sentences for its caveats.

    Raises: NoSafeForm if its dialect has no safe form for its name.
    """
    codes = derive(profile, reported.name, reported.data_type, standard=reported.standard)
    name, of_label = find_name(reported.label, reported.name)
    allowed, of_choices = find_allowed_values(reported.data_type, reported.allowed_values)
    draft = FieldDraft(
        name=name,
        key=_PLACEHOLDER_KEY,
        data_type=reported.data_type,
        allowed_values=allowed,
        custom_insertion_code=codes.insertion_code,
        custom_value_expression=codes.value_expression,
        esp_field_name=reported.name,
    )
    of_default = [_describe_default(profile, each) for each in [reported.default] if each]
    sentences = [*reported.caveats, *of_label, *of_choices, *of_default]
    return draft.define(by=integration.channel, at=at), sentences


def _keys(name: str, integration_id: IntegrationId) -> Iterator[FieldKey]:
    """Yield the key derived from the name if it is valid, and that key with suffixes.

    The suffixes are the integration's id, then `ID_2`, `ID_3`, and so on without an end. If no key
    can be derived from the name, there is none.
    """
    derived = derive_key(name)
    with suppress(InvalidField):
        yield FieldKey(derived)
    # `sys` is a valid key, but with a suffix, it has the reserved prefix.
    stem = f"f_{derived}" if f"{derived}_" == RESERVED_PREFIX else derived
    with suppress(InvalidField):
        for number in count(1):
            suffix = f"_{integration_id}" if number == 1 else f"_{integration_id}_{number}"
            yield FieldKey(stem[: MAX_KEY_LENGTH - len(suffix)].rstrip("_") + suffix)


def _split_by_key(
    integration: Integration,
    valid: Iterable[FieldDefinition],
    stored: Iterable[RecipientField],
) -> tuple[list[FieldDefinition], list[RefusedField]]:
    """Split the fields into those that can have a key, and those that are refused without one.

    A refused field does not occupy its variable, so another field can have it.
    """
    stored_names = {field.origin.esp_field_name for field in stored}
    with_key, refused = [], []
    for each in valid:
        name = str(each.origin.esp_field_name)
        if name in stored_names or next(_keys(name, integration.id), None) is not None:
            with_key.append(each)
        else:
            refused.append(RefusedField(name, _NO_KEY))
    return with_key, refused


def _precedence(profile: Profile, field: FieldDefinition) -> tuple[bool, str, str, bool, str]:
    """Return the position of the field among those that need a key, whatever the report's order.

    A name that is a key has precedence over names from which this key is derived, such as `town`
    over `Town`, and a standard field over a custom field with the same name.
    """
    name = str(field.origin.esp_field_name)
    key = derive_key(name)
    return (
        name != key,
        key,
        name,
        not is_standard(profile, field),
        str(field.custom_value_expression),
    )


def esp_identity(field: FieldDefinition) -> tuple[object, ...]:
    """Return a unique key of the field: a standard and a custom field can have the same name."""
    return field.origin.esp_field_name, field.custom_value_expression


def _match_stored(
    accepted: Iterable[FieldDefinition],
    stored: Iterable[RecipientField],
    refused_names: Container[str | None],
) -> list[_Match]:
    """Match each field with the stored field of its identity, or else of its name.

    A stored field with a refused name matches only by identity, so it does not change.
    """
    unmatched = {esp_identity(field): field for field in stored}
    by_identity = [(each, unmatched.pop(esp_identity(each), None)) for each in accepted]
    by_name = {
        field.origin.esp_field_name: field
        for field in unmatched.values()
        if field.origin.esp_field_name not in refused_names
    }
    return [
        (each, field or by_name.pop(each.origin.esp_field_name, None))
        for each, field in by_identity
    ]


def _unreported(
    stored: Iterable[RecipientField],
    matches: Iterable[_Match],
    refused_names: Container[str | None],
) -> tuple[RecipientField, ...]:
    """Return the stored fields that the report does not contain, not even as a refused field."""
    matched_ids = {field.id for _, field in matches if field is not None}
    return tuple(
        field
        for field in stored
        if field.id not in matched_ids and field.origin.esp_field_name not in refused_names
    )


def _with_free_keys(
    new: Iterable[FieldDefinition], taken: Set[FieldKey], integration_id: IntegrationId
) -> tuple[list[FieldDefinition], list[RefusedField]]:
    """Return the new fields with their first free keys, and those that can't have a key."""
    occupied = set(taken)
    # Names with the same keys share an iterator, so that thousands of them take linear time.
    remaining: dict[str, Iterator[FieldKey]] = {}
    created, refused = [], []
    for each in new:
        name = str(each.origin.esp_field_name)
        keys = remaining.setdefault(derive_key(name), _keys(name, integration_id))
        key = next((key for key in keys if key not in occupied), None)
        if key is None:
            refused.append(RefusedField(name, _NO_KEY))
        else:
            occupied.add(key)
            created.append(evolve(each, key=key))
    return created, refused


def _refuse_clashes(
    profile: Profile,
    stored: Iterable[RecipientField],
    valid: Iterable[FieldDefinition],
    refused_names: Set[str],
) -> Iterator[RefusedField]:
    """Yield the fields whose variable another field has. Stored fields have precedence."""
    valid_names = [str(each.origin.esp_field_name) for each in valid]
    remaining = {*valid_names, *refused_names}
    stored_names = [str(field.origin.esp_field_name) for field in stored]
    names = [name for name in stored_names if name in remaining]
    for clash in find_clashes(profile, [*names, *valid_names]):
        first, *others = clash.names
        reason = f"The field {first} already has the variable {clash.variable}."
        yield from (RefusedField(name, reason) for name in others)
