"""Setting the names of fields at an integration."""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping

from attrs import evolve

from ..arguments import require_type
from ..errors import Rule, Violation, Violations
from ..esp.derived_codes import derive_codes
from ..esp.errors import NoSafeForm
from ..fields.field import RecipientField
from ..identity import FieldId
from ..suggestions import closest_match
from .errors import InvalidNames
from .esp_names import EspNames
from .integration import Integration, SetName


def set_names(
    integration: Integration,
    fields: Iterable[RecipientField],
    changes: Mapping[str, SetName | None],
) -> Integration:
    """Return the integration after these changes: by the key of a field, its name, or None.

    `fields` are all fields of the organization. None removes the name that was set, if there is
    one. A name that was set for a field that does not exist any more is free.

    Raises: InvalidNames, with all violations at their keys, if a field does not exist or is one of
    the integration's synced fields, if the dialect has no safe form for a name, or if two fields
    would have the same name. TypeError if a name is not a SetName.
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
    changed = evolve(integration, names=_changed_names(integration, by_key, changes))
    names, holders = EspNames(by_key.values(), [changed]), _holders(changed, by_key)
    for key in changes:
        with violations.collect(key):
            _require_valid(names, by_key[key], changed, holders, changes)
    if violations:
        raise InvalidNames(violations)
    return changed


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
        derive_codes(integration.esp, set_name.name, standard=name is not None and name.standard)
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
