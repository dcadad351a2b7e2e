"""The document of a saved plan: a batch, which can be empty, and changes of ESP names."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from attrs import field, frozen

from recipient_fields.domain import Batch, IntegrationId, Rule, Violation
from recipient_fields.domain.integrations import SetName

from ..documents.conversion import InvalidDocument, bad_characters, parse_document
from ..documents.strict_json import NotJson, parse_json, render_json
from .batch_documents import parse_batch, render_batch

__all__ = ["SavedPlan"]


@frozen
class SavedPlan:
    """A batch, and then the changes of the names at integrations: by key, a name, or None."""

    batch: Batch
    names: Mapping[IntegrationId, Mapping[str, SetName | None]] = field(factory=dict)


@frozen
class _Names:
    integration_id: IntegrationId
    names: Mapping[str, SetName | None]


@frozen
class _Integrations:
    integrations: Sequence[_Names] = ()


def parse_plan(content: bytes) -> SavedPlan | None:
    """Return the saved plan, or None if the content is not one.

    Raises: InvalidDocument if the operations or the names of the plan are invalid.
    """
    try:
        document = parse_json(content)
    except NotJson:
        return None
    if not isinstance(document, dict) or "operations" not in document:
        return None
    sections = {name: document.pop(name) for name in ["integrations"] if name in document}
    names = _parse_names(sections)
    batch = parse_batch(document, can_be_empty=True)
    if not batch.operations and not names:  # A plan without changes fits every catalog.
        batch = Batch(())
    return SavedPlan(batch, names)


def render_plan(plan: SavedPlan) -> bytes:
    """Return the document of the plan."""
    document: dict[str, Any] = dict(render_batch(plan.batch))
    if plan.names:
        document["integrations"] = [
            {"integration_id": integration_id, "names": _render_names(names)}
            for integration_id, names in plan.names.items()
        ]
    return render_json(document) + b"\n"


def _parse_names(sections: object) -> Mapping[IntegrationId, Mapping[str, SetName | None]]:
    """Return the changes of names. An integration can be in the document only once."""
    violations = bad_characters(sections)
    if violations:
        raise InvalidDocument(violations)
    names: dict[IntegrationId, Mapping[str, SetName | None]] = {}
    for index, each in enumerate(parse_document(sections, _Integrations).integrations):
        if each.integration_id in names:
            message = "The plan already has this integration. Add the names to it."
            path = ("integrations", index, "integration_id")
            violations.append(Violation(Rule.DUPLICATE_ITEM, message, path))
        names[each.integration_id] = each.names
    if violations:
        raise InvalidDocument(violations)
    return names


def _render_names(names: Mapping[str, SetName | None]) -> dict[str, object]:
    return {
        key: None if name is None else {"name": name.name, "custom": name.custom}
        for key, name in names.items()
    }
