"""The form in which fields are published: JSON documents of 13 members."""

from __future__ import annotations

import json

from attrs import frozen

from recipient_fields.domain import (
    Catalog,
    OrganizationId,
    RecipientField,
    catalog_version_tag,
    format_instant,
)


@frozen
class PublishedCatalog:
    """A catalog as its readers get it.

    `documents` is a JSON array of what `field_document` makes of each field, by ascending id.
    """

    organization_id: OrganizationId
    revision: int
    total: int
    documents: str

    @property
    def version_tag(self) -> str:
        """Names this state of the catalog; see Catalog."""
        return catalog_version_tag(self.organization_id, self.revision)


def field_document(field: RecipientField) -> dict[str, object]:
    """The 13 members of a field, always all of them (HTTP contract, section 2)."""
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


def published(catalog: Catalog) -> PublishedCatalog:
    """The catalog as its readers get it, for storages that can't write it any faster."""
    documents = [field_document(field) for field in catalog.fields]
    return PublishedCatalog(
        catalog.organization_id,
        catalog.revision,
        len(documents),
        json.dumps(documents, ensure_ascii=False, allow_nan=False, separators=(",", ":")),
    )
