"""The documents of fields, of catalogs and of their history."""

from __future__ import annotations

import json
from collections.abc import Iterable
from datetime import datetime
from typing import ClassVar

from attrs import asdict, field, frozen

from recipient_fields.domain import (
    ORIGIN_MEMBERS,
    AllowedValues,
    Author,
    Catalog,
    Channel,
    DataType,
    FieldChanges,
    FieldDraft,
    FieldId,
    FieldKey,
    FieldName,
    HistoryPage,
    HistoryRecord,
    InsertionCode,
    IntegrationId,
    OrganizationId,
    Origin,
    RecipientField,
    RecordedOperation,
    Source,
    ValueExpression,
    format_instant,
    sync_channel,
)

from ..documents.schemas import NamedSchema, Schema, described, named
from ..documents.value_schemas import ID, REPLACEMENT, STORED_FIELD
from ..ports.fields import PublishedCatalog, PublishedHistoryPage

__all__ = [
    "ActorDocument",
    "FieldDocument",
    "HistoryRecordDocument",
    "published",
    "published_page",
    "render_field",
]


@frozen(kw_only=True)
class FieldDocument:
    """A recipient field with all its members. Tolerate additional ones."""

    schema_name: ClassVar[str] = "RecipientField"
    schema: ClassVar[Schema] = STORED_FIELD

    id: FieldId
    name: FieldName
    key: FieldKey
    data_type: DataType
    allowed_values: list[object] | None
    insertable: bool
    source: Source
    integration_id: IntegrationId | None
    esp_field_name: str | None
    custom_insertion_code: InsertionCode | None
    custom_value_expression: ValueExpression | None
    created_at: datetime
    updated_at: datetime

    def to_field(self, organization_id: OrganizationId) -> RecipientField:
        """Return the field. Its `version` is 0: responses do not contain it.

        Raises: InvalidField if members contradict each other.
        """
        members = asdict(self, recurse=False)
        if self.allowed_values is not None:
            members["allowed_values"] = AllowedValues(self.data_type, self.allowed_values)
        origin = Origin(*map(members.pop, ORIGIN_MEMBERS))
        return RecipientField(**members, origin=origin, organization_id=organization_id, version=0)


@frozen(kw_only=True)
class ActorDocument:
    """The author of the change."""

    channel: Source = field(metadata=described("How the change was made."))
    id: int | str | None = field(
        metadata=described("The id of the API key, the administrator or the integration.")
    )
    name: str | None = field(
        metadata=described(
            "The displayed form of the API key, the administrator's email address, or the name of"
            " the integration. Never a key."
        )
    )

    def to_author(self, request_id: str | None) -> Author:
        """Return the author."""
        channel = Channel(self.channel)
        if self.channel is Source.INTEGRATION and isinstance(self.id, int):
            channel = sync_channel(IntegrationId(self.id))
        return Author(channel, id=self.id, name=self.name, request_id=request_id)


@frozen(kw_only=True)
class HistoryRecordDocument:
    """A change of a field. Tolerate additional members."""

    sequence: int = field(
        metadata=described(
            "The number of the record: 1 for the first of the organization, no gaps.", ID
        )
    )
    occurred_at: datetime = field(
        metadata=described("Later for each transaction; the same for all its records.")
    )
    operation: RecordedOperation
    actor: ActorDocument
    request_id: str | None = field(
        metadata=described("The `X-Request-Id` of the request that made the change.")
    )
    field_id: FieldId
    key: FieldKey
    before: FieldDocument | None = field(
        metadata=described("The field before the change. null if it was created or restored.")
    )
    after: FieldDocument | None = field(
        metadata=described("The field after the change. null if it was deleted.")
    )

    def to_record(self, organization_id: OrganizationId) -> HistoryRecord:
        """Return the record. The `version` of its fields is 0: responses do not contain it.

        Raises: InvalidField or ValueError if members contradict each other.
        """
        record = HistoryRecord(
            self.operation,
            None if self.before is None else self.before.to_field(organization_id),
            None if self.after is None else self.after.to_field(organization_id),
            sequence=self.sequence,
            occurred_at=self.occurred_at,
            author=self.actor.to_author(self.request_id),
        )
        if (record.field_id, record.key) != (self.field_id, self.key):
            raise ValueError("the id or the key is not that of the field")
        return record


@frozen
class FieldEnvelopeDocument:
    """The response with one field."""

    schema_name: ClassVar[str] = "RecipientFieldEnvelope"

    recipient_field: FieldDocument


@frozen
class FieldListDocument:
    """The response with a page of fields."""

    schema_name: ClassVar[str] = "RecipientFieldList"

    recipient_fields: list[FieldDocument]


@frozen
class HistoryRecordListDocument:
    """The response with a page of the history."""

    recipient_field_changes: list[HistoryRecordDocument]


def _request(kind: str, description: str, members: object) -> NamedSchema:
    """Return the schema of a request with the members of one field."""
    return named(
        f"RecipientField{kind}Envelope",
        type="object",
        description=description,
        additionalProperties=False,
        required=["recipient_field"],
        properties={"recipient_field": members},
    )


CREATION_REQUEST = _request("Draft", "The request that creates a field.", FieldDraft)
CHANGE_REQUEST = _request("Changes", "The request that changes members of a field.", FieldChanges)
REPLACEMENT_REQUEST = _request("Replacement", "The request that replaces a field.", REPLACEMENT)


def render_field(field: RecipientField) -> dict[str, object]:
    """Return all members of a field."""
    # Explicit, because a loop over the members takes 1.4 times as long. Each response needs it.
    return {
        "id": field.id,
        "name": field.name,
        "key": field.key,
        "data_type": field.data_type.value,
        "allowed_values": None if field.allowed_values is None else field.allowed_values.values,
        "insertable": field.insertable,
        "source": field.origin.source.value,
        "integration_id": field.origin.integration_id,
        "esp_field_name": field.origin.esp_field_name,
        "custom_insertion_code": field.custom_insertion_code,
        "custom_value_expression": field.custom_value_expression,
        "created_at": format_instant(field.created_at),
        "updated_at": format_instant(field.updated_at),
    }


def render_fields(fields: Iterable[RecipientField]) -> dict[str, object]:
    """Return the document of a list, in the given order."""
    return {"recipient_fields": [render_field(field) for field in fields]}


def render_record(record: HistoryRecord) -> dict[str, object]:
    """Return the nine members of a record of the history."""
    author = record.author
    return {
        "sequence": record.sequence,
        "occurred_at": format_instant(record.occurred_at),
        "operation": record.operation.value,
        "actor": {"channel": author.channel.source.value, "id": author.id, "name": author.name},
        "request_id": author.request_id,
        "field_id": record.field_id,
        "key": record.key,
        "before": None if record.before is None else render_field(record.before),
        "after": None if record.after is None else render_field(record.after),
    }


def render_records(records: Iterable[HistoryRecord]) -> dict[str, object]:
    """Return the document of a page of the history, in the given order."""
    return {"recipient_field_changes": [render_record(record) for record in records]}


_encode = json.JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode


def published(catalog: Catalog) -> PublishedCatalog:
    """Return the catalog as JSON.

    A storage that can read the documents directly from its rows need not call this function.
    """
    documents = [render_field(field) for field in catalog.fields]
    return PublishedCatalog(
        catalog.organization_id,
        catalog.revision,
        len(documents),
        _encode(documents),
    )


def published_page(page: HistoryPage) -> PublishedHistoryPage:
    """Return the page of the history as JSON.

    A storage that can read the documents directly from its rows need not call this function.
    """
    records = {each.sequence: _encode(render_record(each)) for each in page.records}
    return PublishedHistoryPage(records, page.next)
