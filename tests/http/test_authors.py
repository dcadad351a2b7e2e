"""The author of each change in the history."""

from __future__ import annotations

from recipient_fields.domain import API, Author, FieldDraft, HistoryQuery, PlainKey

from .api import enveloped

STORAGES = ("memory",)


def test_every_change_has_the_api_key_and_the_request_as_its_author(harness):
    ours = harness.organization()
    issued = harness.issue_key(ours)
    api = harness.client().with_key(issued.plain.reveal())
    body = {"name": "City", "data_type": "text"}
    for number, (method, path, document) in enumerate(
        (
            ("POST", "", body),
            ("PATCH", "/city", {"name": "Town"}),
            ("PUT", "/city", body),
            ("PUT", "/age", body),
            ("DELETE", "/city", None),
        )
    ):
        response = api.send(
            method,
            f"/api/v1/recipient_fields{path}",
            "" if document is None else enveloped(document),
            x_request_id=f"request-{number}",
        )
        assert response.status < 300
    records = harness.service.list_changes(ours, HistoryQuery()).records
    assert [record.author for record in records] == [
        Author(
            API, id=issued.api_key.id, name=issued.api_key.display, request_id=f"request-{number}"
        )
        for number in range(5)
    ]


def test_a_key_in_the_request_id_is_not_recorded(harness, api):
    secret = PlainKey.generate().reveal()
    response = api.send(
        "POST",
        "/api/v1/recipient_fields",
        enveloped({"name": "City", "data_type": "text"}),
        x_request_id=secret,
    )
    assert response.status == 201
    (organization,) = harness.storage.organizations.all()
    (record,) = harness.service.list_changes(organization.id, HistoryQuery()).records
    assert secret not in str(record.author)


def test_a_draft_without_a_request_has_an_anonymous_author(harness):
    ours = harness.organization()
    harness.service.create_field(ours, FieldDraft(name="City", data_type="text"))
    (record,) = harness.service.list_changes(ours, HistoryQuery()).records
    assert record.author == Author(API)
