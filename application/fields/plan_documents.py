"""The document of a saved plan: a batch, which can be empty."""

from __future__ import annotations

from recipient_fields.domain import Batch

from ..documents.strict_json import NotJson, parse_json, render_json
from .batch_documents import parse_batch, render_batch


def parse_plan(content: bytes) -> Batch | None:
    """Return the batch of a saved plan, or None if the content is not a plan.

    Raises: InvalidDocument if the operations of the plan are invalid.
    """
    try:
        document = parse_json(content)
    except NotJson:
        return None
    if not isinstance(document, dict) or "operations" not in document:
        return None
    if document["operations"] == []:  # A plan can be empty, but not a batch of the HTTP API.
        return Batch(())
    return parse_batch(document)


def render_plan(batch: Batch) -> bytes:
    """Return the document of a plan that has this batch."""
    return render_json(render_batch(batch)) + b"\n"
