"""The document of a saved plan: a batch, which can be empty, and changes of ESP names."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from attrs import field, frozen

from recipient_fields.domain import Batch, IntegrationId
from recipient_fields.domain.esp import SetName

from ..documents.conversion import parse_document
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

    Raises: InvalidDocument if the operations of the plan are invalid.
    """
    try:
        document = parse_json(content)
    except NotJson:
        return None
    if not isinstance(document, dict) or "operations" not in document:
        return None
    sections = {name: document.pop(name) for name in ["integrations"] if name in document}
    names = parse_document(sections, _Integrations).integrations
    if document["operations"] == []:  # A plan can have none, but not a batch of the HTTP API.
        batch = Batch((), document.get("if_revision") if names else None)
    else:
        batch = parse_batch(document)
    return SavedPlan(batch, {each.integration_id: each.names for each in names})


def render_plan(plan: SavedPlan) -> bytes:
    """Return the document of the plan."""
    document: dict[str, Any] = dict(render_batch(plan.batch))
    if plan.names:
        document["integrations"] = [
            {"integration_id": integration_id, "names": _render_names(names)}
            for integration_id, names in plan.names.items()
        ]
    return render_json(document) + b"\n"


def _render_names(names: Mapping[str, SetName | None]) -> dict[str, object]:
    return {
        key: None if name is None else {"name": name.name, "custom": name.custom}
        for key, name in names.items()
    }
