"""Plans: the changes that make the names at integrations equal to those of a document."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from itertools import chain
from typing import TypeAlias

from attrs import field, frozen

from ..errors import Rule, Violation
from ..esp.esps import Esp
from ..esp.profiles import PROFILES
from ..fields.field import RecipientField
from ..fields.plans import PlannedChange
from ..identity import IntegrationId
from ..suggestions import closest_match
from .errors import IntegrationNotFound, InvalidNames
from .integration import Integration, SetName, parse_integration_name
from .setting import set_names

NameChanges: TypeAlias = Mapping[IntegrationId, Mapping[str, SetName | None]]
"""The changes of `set_names` at each integration: by the key of a field, its name, or None."""


@frozen(kw_only=True)
class DefinedNames:
    """The names that a document defines at the integration with this name, by keys of fields.

    Raises: InvalidIntegration if no integration can have this name.
    """

    integration: str = field(converter=parse_integration_name)
    esp: Esp
    names: Mapping[str, SetName]


def plan_names(
    defined: Iterable[DefinedNames],
    integrations: Collection[Integration],
    fields: Collection[RecipientField],
    *,
    prune: bool = False,
) -> tuple[NameChanges, tuple[PlannedChange[SetName], ...], int]:
    """Return the changes that make the names at these integrations equal to the defined ones.

    Also return each of them, in the order of the document, and the number of the names that are
    already as the document defines them. `integrations` and `fields` are all of the organization.
    Other names at these integrations are removed only if `prune` is true.
    """
    planned: list[PlannedChange[SetName]] = []
    changes: dict[IntegrationId, Mapping[str, SetName | None]] = {}
    unchanged = 0
    for each in defined:
        try:
            found = _find_integration(each, integrations)
        except InvalidNames as error:
            planned += _refused(each.integration, error)
            continue
        stored = names_by_key(found, fields)
        changed: dict[str, SetName | None] = {
            key: name for key, name in each.names.items() if stored.get(key) != name
        }
        unchanged += len(each.names) - len(changed)
        if prune:
            changed |= {key: None for key in stored if key not in each.names}
        if changed:
            changes[found.id] = changed
            planned += _planned(found, fields, changed)
    return changes, tuple(planned), unchanged


def plan_saved_names(
    changes: NameChanges, integrations: Iterable[Integration], fields: Collection[RecipientField]
) -> tuple[PlannedChange[SetName], ...]:
    """Return each of these changes of `set_names`.

    Raises: IntegrationNotFound if one of the integrations does not exist.
    """
    by_id = {each.id: each for each in integrations}
    if not changes.keys() <= by_id.keys():
        raise IntegrationNotFound
    planned = (_planned(by_id[each], fields, changes[each]) for each in changes)
    return tuple(chain.from_iterable(planned))


def names_by_key(
    integration: Integration, fields: Iterable[RecipientField]
) -> Mapping[str, SetName]:
    """Return the names that are set at the integration, by the keys of these fields, sorted."""
    by_key = {str(field.key): integration.names.get(field.id) for field in fields}
    return {key: name for key, name in sorted(by_key.items()) if name is not None}


def _find_integration(defined: DefinedNames, integrations: Iterable[Integration]) -> Integration:
    """Return the integration with this name.

    Raises: InvalidNames if there is none or several, or if it is one with another ESP.
    """
    by_name: dict[str, list[Integration]] = {}
    for each in integrations:
        by_name.setdefault(each.name, []).append(each)
    found = by_name.get(defined.integration, [])
    if not found:
        message = "There is no integration with this name. Create it first: documents create none."
        suggestion = closest_match(defined.integration, by_name)
        raise InvalidNames([Violation(Rule.UNKNOWN_VALUE, message, suggestion=suggestion)])
    if len(found) > 1:
        ids = " and ".join(str(each.id) for each in found)
        message = f"Integrations {ids} have this name. Rename one of them."
        raise InvalidNames([Violation(Rule.DUPLICATE_ITEM, message)])
    if found[0].esp is not defined.esp:
        title, actual = PROFILES[defined.esp].title, PROFILES[found[0].esp].title
        message = f"This is an integration with {actual}, not with {title}. Correct `esp`."
        raise InvalidNames([Violation(Rule.MISMATCH, message)])
    return found[0]


def _planned(
    integration: Integration,
    fields: Collection[RecipientField],
    changes: Mapping[str, SetName | None],
) -> list[PlannedChange[SetName]]:
    """Return each change, or each violation if `set_names` rejects the changes."""
    try:
        set_names(integration, fields, changes)
    except InvalidNames as error:
        return _refused(integration.name, error)
    stored = names_by_key(integration, fields)
    return [
        PlannedChange(integration=integration.name, key=key, before=stored.get(key), after=name)
        for key, name in changes.items()
    ]


def _refused(integration: str, error: InvalidNames) -> list[PlannedChange[SetName]]:
    return [
        PlannedChange(
            integration=integration,
            key=None if not each.path else str(each.path[0]),
            refusal=each,
        )
        for each in error.violations
    ]
