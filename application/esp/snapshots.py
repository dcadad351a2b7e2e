"""Snapshots: the fields of an organization and their names at ESPs at one time, for builds."""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import datetime

from attrs import frozen

from recipient_fields.domain import InvalidInput, OrganizationId
from recipient_fields.domain.esp import Profiles
from recipient_fields.domain.integrations import EspNames

from ..documents.conversion import InvalidDocument, parse_document
from ..documents.schemas import render_document
from ..documents.strict_json import parse_json
from ..fields.documents import FieldDocument, render_field
from .documents import IntegrationDocument

_ORGANIZATION = OrganizationId(1)
"""The organization of the fields of a snapshot, which does not contain its id."""


@frozen
class _Snapshot:
    """The fields of all sources by key, and the integrations by id."""

    taken_at: datetime
    recipient_fields: Sequence[FieldDocument]
    integrations: Sequence[IntegrationDocument]


@frozen
class FieldSnapshot:
    """The fields of all sources, and their names at each integration, at one time."""

    taken_at: datetime
    names: EspNames


def render_snapshot(snapshot: FieldSnapshot) -> bytes:
    """Return the JSON document, with one line per member, so that two can be compared."""
    integrations = snapshot.names.integrations
    header = _Snapshot(
        snapshot.taken_at, (), [IntegrationDocument.of(integrations[i]) for i in integrations]
    )
    fields = sorted(snapshot.names.fields, key=lambda each: each.key)
    document = {**render_document(header), "recipient_fields": [*map(render_field, fields)]}
    text = json.dumps(document, indent=1, ensure_ascii=False, default=list)
    return f"{text}\n".encode()


def parse_snapshot(content: bytes, profiles: Profiles) -> FieldSnapshot:
    """Return the snapshot of a document that `render_snapshot` has written.

    Raises: NotJson, or InvalidDocument if the document breaks a rule.
    """
    parsed = parse_document(parse_json(content), _Snapshot, ignore_unknown=True)
    try:
        fields = [each.to_field(_ORGANIZATION) for each in parsed.recipient_fields]
        integrations = [each.to_integration(_ORGANIZATION) for each in parsed.integrations]
    except InvalidInput as error:
        raise InvalidDocument(error.violations) from error
    return FieldSnapshot(parsed.taken_at, EspNames(fields, integrations, profiles))
