"""Catalogs as JSON."""

from __future__ import annotations

import json
from datetime import UTC, datetime

import pytest
from attrs import evolve

from recipient_fields.application import published, render_field
from recipient_fields.domain import (
    API,
    AllowedValues,
    Catalog,
    DataType,
    FieldDraft,
    FieldId,
    IntegrationId,
    OrganizationId,
    sync_channel,
)

NOON = datetime(2026, 11, 20, 12, tzinfo=UTC)


@pytest.fixture
def size():
    sizes = AllowedValues(DataType.NUMBER, [1, 2.5])
    draft = FieldDraft(
        name="Größe",
        data_type=DataType.NUMBER,
        allowed_values=sizes,
        insertable=False,
        custom_insertion_code="{{ size }}",
        custom_value_expression="size",
    )
    return draft.define(by=API, at=NOON).with_id(FieldId(5), OrganizationId(1))


def test_a_document_has_the_13_members(size):
    assert list(render_field(size).items()) == [
        ("id", 5),
        ("name", "Größe"),
        ("key", "grosse"),
        ("data_type", "number"),
        ("allowed_values", (1, 2.5)),
        ("insertable", False),
        ("source", "api"),
        ("integration_id", None),
        ("esp_field_name", None),
        ("custom_insertion_code", "{{ size }}"),
        ("custom_value_expression", "size"),
        ("created_at", "2026-11-20T12:00:00.000Z"),
        ("updated_at", "2026-11-20T12:00:00.000Z"),
    ]


def test_a_document_has_the_origin_of_a_synced_field(size):
    origin = sync_channel(IntegrationId(7)).origin("SIZE")
    document = render_field(evolve(size, origin=origin, allowed_values=None))
    assert (document["source"], document["allowed_values"]) == ("integration", None)
    assert (document["integration_id"], document["esp_field_name"]) == (7, "SIZE")


def test_a_published_catalog_is_compact_json_of_its_documents(size):
    catalog = Catalog(OrganizationId(1), 9, (size, evolve(size, id=FieldId(6))))
    catalog_as_json = published(catalog)
    assert (catalog_as_json.organization_id, catalog_as_json.revision, catalog_as_json.total) == (
        1,
        9,
        2,
    )
    assert catalog_as_json.version_tag == catalog.version_tag
    documents = [{**render_field(f), "allowed_values": [1, 2.5]} for f in catalog.fields]
    assert json.loads(catalog_as_json.documents) == documents
    assert catalog_as_json.documents == json.dumps(
        documents, ensure_ascii=False, separators=(",", ":")
    )
