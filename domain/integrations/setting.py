"""Setting the names of fields at integrations, and the plans that do."""

from __future__ import annotations

from collections.abc import Collection, Container, Iterable, Mapping
from typing import TypeAlias

from attrs import evolve

from ..arguments import require_type
from ..errors import Rule, Violation, Violations
from ..esp.derived_codes import derive
from ..esp.errors import NoSafeForm
from ..esp.names import Esp
from ..esp.profiles import BUILT_IN, Profiles
from ..esp.profiles.profile import Profile
from ..fields.field import RecipientField
from ..fields.history import Change
from ..identity import FieldId, IntegrationId
from ..suggestions import closest_match
from .errors import InvalidNames
from .esp_names import EspNames
from .integration import Integration, NamedField, SetName

NamesToSet: TypeAlias = Mapping[IntegrationId, Mapping[str, SetName | None]]
"""The changes of `set_names` at each integration: by the key of a field, its name, or None."""

NameChange: TypeAlias = Change[NamedField[SetName]]
"""The change of a name that is set for a field."""


def set_names(
    integration: Integration,
    fields: Iterable[RecipientField],
    changes: Mapping[str, SetName | None],
    profiles: Profiles = BUILT_IN,
) -> Integration:
    """Return the integration after these changes: by the key of a field, its name, or None.

    `fields` are all fields of the organization. None removes the name that was set, if there is
    one. A name that was set for a field that does not exist any more is free.

    Raises: InvalidNames, with all violations at their keys, if a field does not exist or is one of
    the integration's synced fields, if the dialect has no safe form for a name, or if two fields
    would have the same name. MissingProfile if the ESP has no profile. TypeError if a name is not a
    SetName.
    """
    for key, name in changes.items():
        require_type(SetName | None, **{f"changes[{key!r}]": name})
    by_key = {str(field.key): field for field in fields}
    violations = Violations()
    for key in changes:
        with violations.collect(key):
            _require_settable(integration, by_key, key)
    if violations:
        raise InvalidNames(violations)
    profile = profiles[integration.esp]
    changed = evolve(integration, names=_changed_names(integration, by_key, changes))
    names = EspNames(by_key.values(), [changed], profiles)
    holders = _holders(changed, by_key)
    for key in changes:
        with violations.collect(key):
            _require_valid(profile, names, by_key[key], changed, holders, changes)
    if violations:
        raise InvalidNames(violations)
    return changed


def name_changes(
    before: Integration, after: Integration, fields: Iterable[RecipientField]
) -> tuple[NameChange, ...]:
    """Return the changes between the names that are set for these fields, in their order."""
    names = ((each, before.names.get(each.id), after.names.get(each.id)) for each in fields)
    return tuple(
        Change.between(
            None if old is None else NamedField(field, before, old),
            None if new is None else NamedField(field, after, new),
        )
        for field, old, new in names
        if old != new
    )


def plan_names(
    integration: str,
    esp: Esp,
    names: Mapping[str, SetName],
    integrations: Iterable[Integration],
    fields: Collection[RecipientField],
    *,
    prune: bool = False,
    profiles: Profiles = BUILT_IN,
) -> tuple[tuple[NameChange | Violation, ...], int]:
    """Return the changes that make the names at an integration equal to these, by keys of fields.

    The integration is the one with this name. A violation is a refused change. Its path is
    `integrations`, the name, and the key of the field unless all names are refused. Also return the
    number of the names that are already equal. `integrations` and `fields` are all of the
    organization. Other names at the integration are removed only if `prune` is true.
    """
    try:
        found = _find_integration(integration, esp, integrations, profiles)
    except InvalidNames as error:
        return _refuse(integration, error), 0
    stored = names_by_key(found, fields)
    changed: dict[str, SetName | None] = {
        key: name for key, name in names.items() if stored.get(key) != name
    }
    unchanged = len(names) - len(changed)
    if prune:
        changed |= {key: None for key in stored if key not in names}
    return plan_set_names(found, fields, changed, profiles), unchanged


def plan_set_names(
    integration: Integration,
    fields: Collection[RecipientField],
    changes: Mapping[str, SetName | None],
    profiles: Profiles = BUILT_IN,
) -> tuple[NameChange | Violation, ...]:
    """Return the changes of `set_names` in their order, or each violation if it rejects them."""
    try:
        after = set_names(integration, fields, changes, profiles)
    except InvalidNames as error:
        return _refuse(integration.name, error)
    by_key = {str(each.key): each for each in fields}
    return name_changes(integration, after, (by_key[key] for key in changes))


def names_by_key(
    integration: Integration, fields: Iterable[RecipientField]
) -> Mapping[str, SetName]:
    """Return the names that are set at the integration, by the keys of these fields, sorted."""
    by_key = {str(field.key): integration.names.get(field.id) for field in fields}
    return {key: name for key, name in sorted(by_key.items()) if name is not None}


def _find_integration(
    name: str, esp: Esp, integrations: Iterable[Integration], profiles: Profiles
) -> Integration:
    """Return the integration with this name.

    Raises: InvalidNames if there is none or several, or if it is one with another ESP.
    """
    by_name: dict[str, list[Integration]] = {}
    for each in integrations:
        by_name.setdefault(each.name, []).append(each)
    found = by_name.get(name, [])
    if not found:
        message = "There is no integration with this name. Create it first: documents create none."
        suggestion = closest_match(name, by_name)
        raise InvalidNames([Violation(Rule.UNKNOWN_VALUE, message, suggestion=suggestion)])
    if len(found) > 1:
        ids = " and ".join(str(each.id) for each in found)
        message = f"Integrations {ids} have this name. Rename one of them."
        raise InvalidNames([Violation(Rule.DUPLICATE_ITEM, message)])
    if found[0].esp != esp:
        title, actual = profiles.title(esp), profiles.title(found[0].esp)
        message = f"This is an integration with {actual}, not with {title}. Correct `esp`."
        raise InvalidNames([Violation(Rule.MISMATCH, message)])
    return found[0]


def _refuse(integration: str, error: InvalidNames) -> tuple[Violation, ...]:
    place = ("integrations", integration)
    return tuple(evolve(each, path=(*place, *each.path[:1])) for each in error.violations)


def _require_settable(
    integration: Integration, by_key: Mapping[str, RecipientField], key: str
) -> None:
    field = by_key.get(key)
    if field is None:
        message = "The organization has no field with this key."
        suggestion = closest_match(key, by_key)
        raise InvalidNames([Violation(Rule.UNKNOWN_VALUE, message, suggestion=suggestion)])
    if integration.channel.owns(field.origin):
        message = (
            "This field was synced from this integration, so its name there is known. Set names"
            " for the fields of other origins."
        )
        raise InvalidNames([Violation(Rule.NOT_APPLICABLE, message)])


def _changed_names(
    integration: Integration,
    by_key: Mapping[str, RecipientField],
    changes: Mapping[str, SetName | None],
) -> dict[FieldId, SetName]:
    """Return all names after the changes, without those that only missing fields had."""
    changed = {by_key[key].id: name for key, name in changes.items()}
    known = {field.id for field in by_key.values()}
    chosen = set(changed.values())
    kept = {
        field_id: name
        for field_id, name in integration.names.items()
        if field_id in known or name not in chosen
    }
    return {i: name for i, name in {**kept, **changed}.items() if name is not None}


def _holders(
    integration: Integration, by_key: Mapping[str, RecipientField]
) -> Mapping[SetName, list[str]]:
    """Return the keys of the fields for which each name is set."""
    holders: dict[SetName, list[str]] = {}
    for key, field in by_key.items():
        if field.id in integration.names:
            holders.setdefault(integration.names[field.id], []).append(key)
    return holders


def _require_valid(
    profile: Profile,
    names: EspNames,
    field: RecipientField,
    integration: Integration,
    holders: Mapping[SetName, list[str]],
    changes: Container[str],
) -> None:
    set_name = integration.names.get(field.id)
    if set_name is None:
        return
    name = names.find(field, integration.id)
    try:
        derive(profile, set_name.name, standard=name is not None and name.standard)
    except NoSafeForm as error:
        raise InvalidNames(evolve(each, path=()) for each in error.violations) from None
    others = [key for key in holders[set_name] if key != field.key]
    if others:
        if others[0] in changes:
            message = f"The field {others[0]} would get this name, too. Set different names."
        else:
            message = (
                f"The field {others[0]} has this name at the integration. Remove or change its name"
                " first."
            )
        raise InvalidNames([Violation(Rule.DUPLICATE_ITEM, message)])
