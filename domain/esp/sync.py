"""What a sync run does: the fields of an integration become what its ESP reports."""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Sequence, Set
from contextlib import suppress
from datetime import datetime
from typing import TypeAlias

from attrs import evolve, field, frozen

from ..errors import InvalidField, InvalidInput, Violations
from ..fields import FieldDefinition, FieldDraft, RecipientField
from ..identity import IntegrationId
from ..text import storable
from ..values import (
    LONGEST_KEY,
    RESERVED_PREFIX,
    AllowedValues,
    DataType,
    FieldKey,
    FieldName,
    derived_key,
)
from .dialects import DIALECTS
from .errors import SyncOvertaken
from .integrations import Integration
from .snippets import derive_snippet, variable_clashes


@frozen(kw_only=True)
class EspField:
    """A field as its ESP reports it.

    `name` is the ESP's own, which its templates use; `label` what people see there. `standard`
    tells one of the ESP's own fields from a custom one, where its dialect writes them differently.
    """

    name: str
    data_type: DataType
    label: str | None = None
    allowed_values: Sequence[object] | None = None
    standard: bool = False


@frozen
class RefusedField:
    """A field of the ESP that is not taken over, and a sentence that says why."""

    name: str = field(converter=storable)
    reason: str


ReportedField: TypeAlias = EspField | RefusedField
"""What an ESP reports: a field, or one that no recipient field can stand for."""


@frozen(kw_only=True)
class SyncPlan:
    """What a run does to an organization's catalog, and what it refuses.

    `created` have the keys they will have, `updated` stand as they will be, `removed` as they were.
    A refused field that is stored stays as it is.
    """

    integration: Integration
    created: tuple[FieldDefinition, ...]
    updated: tuple[RecipientField, ...]
    removed: tuple[RecipientField, ...]
    unchanged: int
    refused: tuple[RefusedField, ...]


@frozen
class _Wanted:
    """A field that the ESP has: what it shall be, and the keys that a new one may take, if any.

    The definition's own key is never used: a stored field keeps its key, a new one takes one of
    `keys`.
    """

    definition: FieldDefinition
    keys: tuple[FieldKey, ...]

    @property
    def esp_name(self) -> str | None:
        return self.definition.origin.esp_field_name


_ANY_KEY = FieldKey("any")

_Pair: TypeAlias = tuple[_Wanted, RecipientField | None]
"""What is wanted, and the stored field that becomes it."""


@frozen
class SyncRun:
    """All that an ESP reported at one time, ready to be compared with a catalog."""

    _at: datetime
    _wanted: tuple[_Wanted, ...]
    _refused: tuple[RefusedField, ...]
    _repeated: tuple[RefusedField, ...]

    @classmethod
    def read(
        cls, integration: Integration, reported: Iterable[ReportedField], *, at: datetime
    ) -> SyncRun:
        """What a run of the integration that begins at that time wants.

        A field is refused where its dialect has no safe form for it, where it breaks the rules of a
        recipient field, and where it was reported before.
        """
        wanted: dict[object, _Wanted] = {}
        refused, repeated = [], []
        for each in reported:
            if isinstance(each, RefusedField):
                refused.append(each)
                continue
            try:
                candidate = _want(each, integration, at)
            except InvalidInput as invalid:
                refused.append(RefusedField(each.name, _reason(invalid)))
                continue
            if wanted.setdefault(_identity(candidate.definition), candidate) is not candidate:
                repeated.append(RefusedField(each.name, "The ESP reports this field twice."))
        return cls(at, tuple(wanted.values()), tuple(refused), tuple(repeated))

    def plan(self, integration: Integration, catalog: Iterable[RecipientField]) -> SyncPlan:
        """How the integration and the fields of its organization change.

        SyncOvertaken where a run that began later has been stored.
        """
        if integration.last_synced_at is not None and integration.last_synced_at > self._at:
            raise SyncOvertaken
        fields = tuple(catalog)
        stored = integration.own(fields)
        staying = {each.name for each in self._refused}
        wanted, keyless = _with_keys(self._wanted, stored)
        clashes = tuple(_clashes(integration, stored, wanted, staying))
        clashing = {each.name for each in clashes}
        staying |= clashing
        free = [each for each in wanted if each.esp_name not in clashing]
        pairs = _paired(free, stored, staying)
        refused = [*self._refused, *self._repeated, *keyless, *clashes]

        gone = []
        if not DIALECTS[integration.esp].listing_is_sample:
            kept = {each.id for _, each in pairs if each is not None}
            gone = [
                each
                for each in stored
                if each.id not in kept and each.origin.esp_field_name not in staying
            ]
        revised = [
            (before, before.resynced(each.definition, by=integration.channel, at=self._at))
            for each, before in pairs
            if before is not None
        ]
        updated = tuple(after for before, after in revised if after is not before)

        taken = {each.key for each in fields} - {each.key for each in gone}
        created = []
        for new in (each for each, before in pairs if before is None):
            key = next((key for key in new.keys if key not in taken), None)
            if key is None:
                refused.append(RefusedField(str(new.esp_name), _no_key_left(new.keys)))
            else:
                taken.add(key)
                created.append(evolve(new.definition, key=key))
        return SyncPlan(
            integration=integration.synced(self._at),
            created=tuple(created),
            updated=updated,
            removed=tuple(gone),
            unchanged=len(revised) - len(updated),
            refused=tuple(refused),
        )


def _reason(invalid: InvalidInput) -> str:
    """What is wrong with the field whose name stands beside this."""
    at_name = [evolve(v, path=()) if v.path == ("name",) else v for v in invalid.violations]
    return str(InvalidInput(at_name))


def _no_key_left(keys: Sequence[FieldKey]) -> str:
    if keys:
        return f"Other fields have the keys that this name gives: {', '.join(keys)}."
    return (
        "No key can be derived from this name. Rename the field in the ESP: use letters a-z and"
        f" digits 0-9, with or without accents, and do not begin with {RESERVED_PREFIX}."
    )


def _want(reported: EspField, integration: Integration, at: datetime) -> _Wanted:
    """What the ESP's field is here; InvalidField or NoSafeForm where it can't be."""
    snippet = derive_snippet(
        integration.esp,
        reported.name,
        data_type=reported.data_type,
        standard=reported.standard,
    )
    violations = Violations()
    allowed = None
    with violations.under("allowed_values"):
        if reported.allowed_values is not None:
            allowed = AllowedValues(reported.data_type, reported.allowed_values)
    with violations.under("label"):
        name = FieldName((reported.label or "").strip() or reported.name)
    if violations:
        raise InvalidField(violations)
    draft = FieldDraft(
        name=name,
        key=_ANY_KEY,
        data_type=reported.data_type,
        allowed_values=allowed,
        custom_insertion_code=snippet.insertion_code,
        custom_value_expression=snippet.value_expression,
        esp_field_name=reported.name,
    )
    keys = tuple(_keys(reported.name, integration.id))
    return _Wanted(draft.defined(by=integration.channel, at=at), keys)


def _keys(name: str, integration_id: IntegrationId) -> Iterator[FieldKey]:
    """The key that the name gives, and the same with the integration's id; unless reserved."""
    suffix = f"_{integration_id}"
    derived = derived_key(name)
    shortened = derived[: LONGEST_KEY - len(suffix)].rstrip("_")
    for text in (derived, shortened + suffix):
        with suppress(InvalidField):
            yield FieldKey(text)


def _with_keys(
    wanted: Iterable[_Wanted], stored: Iterable[RecipientField]
) -> tuple[list[_Wanted], list[RefusedField]]:
    """Split off the new fields that can have no key, so that they hold no variable either."""
    stored_names = {field.origin.esp_field_name for field in stored}
    able, refused = [], []
    for each in wanted:
        if each.keys or each.esp_name in stored_names:
            able.append(each)
        else:
            refused.append(RefusedField(str(each.esp_name), _no_key_left(())))
    return able, refused


def _identity(field: FieldDefinition) -> tuple[object, ...]:
    """What tells an integration's fields apart: a standard one may share a custom one's name."""
    return field.origin.esp_field_name, field.custom_value_expression


def _paired(
    wanted: Iterable[_Wanted], stored: Iterable[RecipientField], staying: Container[str | None]
) -> list[_Pair]:
    """Each with the stored field of its identity, else with one of its name that nobody else is.

    What is stored by a name of `staying` becomes nothing else.
    """
    unpaired = {_identity(field): field for field in stored}
    exact = [(each, unpaired.pop(_identity(each.definition), None)) for each in wanted]
    by_name = {
        field.origin.esp_field_name: field
        for field in unpaired.values()
        if field.origin.esp_field_name not in staying
    }
    return [(each, field or by_name.pop(each.esp_name, None)) for each, field in exact]


def _clashes(
    integration: Integration,
    stored: Iterable[RecipientField],
    wanted: Iterable[_Wanted],
    staying: Set[str],
) -> Iterator[RefusedField]:
    """Those whose variable stands for another field, of which a stored one comes first."""
    wanted_names = [str(each.esp_name) for each in wanted]
    left = {*wanted_names, *staying}
    stored_names = [str(field.origin.esp_field_name) for field in stored]
    holders = [name for name in stored_names if name in left]
    for clash in variable_clashes(integration.esp, [*holders, *wanted_names]):
        first, *others = clash.names
        reason = f"Its variable {clash.variable} already stands for {first}."
        yield from (RefusedField(name, reason) for name in others)
