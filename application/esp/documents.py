"""The documents of integrations."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime

from attrs import field, frozen

from recipient_fields.domain import IntegrationId
from recipient_fields.domain.esp import Esp, Integration

from ..documents.schemas import described, render_document


@frozen(kw_only=True)
class IntegrationDocument:
    """A connection to an account of an ESP. Tolerate additional members."""

    id: IntegrationId
    name: str
    esp: Esp
    last_synced_at: datetime | None = field(
        metadata=described("When the last successful sync began. null if there was none.")
    )


@frozen
class IntegrationListDocument:
    """The response with all integrations."""

    integrations: Sequence[IntegrationDocument]


def render_integrations(integrations: Iterable[Integration]) -> dict[str, object]:
    """Return the document of a list, in the given order."""
    documents = tuple(
        IntegrationDocument(
            id=each.id, name=each.name, esp=each.esp, last_synced_at=each.last_synced_at
        )
        for each in integrations
    )
    return render_document(IntegrationListDocument(documents))
