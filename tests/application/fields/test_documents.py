"""Documents of request bodies."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import pytest

from recipient_fields.application import InvalidDocument
from recipient_fields.application.content.documents import parse_content_export
from recipient_fields.application.documents.conversion import parse_document
from recipient_fields.application.fields.documents import (
    HistoryRecordDocument,
    render_field,
)
from recipient_fields.application.fields.inputs import (
    parse_changes,
    parse_draft,
    parse_envelope,
    parse_replacement,
)
from recipient_fields.application.recipients.documents import parse_recipients
from recipient_fields.domain import FieldId, OrganizationId
from recipient_fields.testing.examples import a_definition


def violations(parse: Callable[[object], object], document: object) -> dict[str, str]:
    """Return the messages by JSON pointer."""
    with pytest.raises(InvalidDocument) as caught:
        parse(document)
    return {
        "".join(f"/{step}" for step in each.path): each.message for each in caught.value.violations
    }


@pytest.mark.parametrize(
    "parse",
    [parse_draft, parse_changes, partial(parse_replacement, key="city")],
    ids=["POST", "PATCH", "PUT"],
)
@pytest.mark.parametrize(
    ("document", "pointer", "message"),
    [
        ([], "", "Send a JSON object."),
        ({}, "/recipient_field", "Send the field's members in this object."),
        ({"recipient_field": []}, "/recipient_field", "This must be an object."),
    ],
)
def test_a_body_without_members_has_one_violation(parse, document, pointer, message):
    body = partial(parse_envelope, parse=parse)
    assert violations(body, document) == {pointer: message}


def test_a_member_of_the_wrong_type_is_found_by_its_pointer():
    members = {"name": "Tier", "data_type": "text", "allowed_values": "gold"}
    assert violations(parse_draft, members) == {"/allowed_values": "This must be an array or null."}


def test_content_has_a_maximum_length():
    document = {"content": "x" * 1_000_001, "esp": "braze"}
    assert violations(parse_content_export, document) == {
        "/content": "Line 1, column 1: Send at most 1,000,000 characters."
    }


@pytest.mark.parametrize(
    ("parse", "document", "pointer", "message"),
    [
        (
            partial(parse_replacement, key="city"),
            {"name": "City", "data_type": "text", "key": "town"},
            "/key",
            "This key differs from the one in the path. Leave it out.",
        ),
        (
            parse_content_export,
            {"content": "x", "esp": "braze", "integration_id": 1},
            "/integration_id",
            "Send either `esp` or `integration_id`.",
        ),
        (parse_content_export, {"content": "x"}, "/esp", "Add this member or `integration_id`."),
        (
            parse_content_export,
            {"content": "x", "integration_id": "1"},
            "/integration_id",
            "This must be an integer.",
        ),
        (parse_recipients, {"recipients": [{}, 5]}, "/recipients/1", "This must be an object."),
    ],
)
def test_a_violation_says_what_to_send(parse, document, pointer, message):
    assert violations(parse, document) == {pointer: message}


def test_a_record_of_another_field_is_rejected():
    record = {
        "sequence": 1,
        "occurred_at": "2026-11-20T09:15:00.000Z",
        "operation": "created",
        "actor": {"channel": "api", "id": 1, "name": None},
        "request_id": None,
        "field_id": 8,
        "key": "city",
        "before": None,
        "after": render_field(a_definition().with_id(FieldId(7), OrganizationId(1))),
    }
    document = parse_document(record, HistoryRecordDocument)
    with pytest.raises(ValueError, match=r"^the id or the key is not that of the field$"):
        document.to_record(OrganizationId(1))
