"""Fields as JSON documents."""

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
    """A catalog as JSON.

    `documents` is the JSON array of the fields by ascending id, each as `field_document` returns
    it. `total` is their number.
    """

    organization_id: OrganizationId
    revision: int
    total: int
    documents: str

    @property
    def version_tag(self) -> str:
        """The entity tag of this revision of the catalog, as `Catalog.version_tag` returns it."""
        return catalog_version_tag(self.organization_id, self.revision)


def field_document(field: RecipientField) -> dict[str, object]:
    """Return the 13 members of a field, including null ones (HTTP contract, section 2)."""
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
    """Return the catalog as JSON.

    A storage that can read the documents directly from its rows need not call this function.
    """
    documents = [field_document(field) for field in catalog.fields]
    return PublishedCatalog(
        catalog.organization_id,
        catalog.revision,
        len(documents),
        json.dumps(documents, ensure_ascii=False, allow_nan=False, separators=(",", ":")),
    )
