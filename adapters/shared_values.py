"""Large values in the documents of the history, which a storage stores once per organization.

A document contains the digest of such a value in its place. So a change of a small member does not
store the large ones again, and each record can be read without other records.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping
from hashlib import sha256
from typing import Any

from attrs import frozen

from recipient_fields.domain import FieldDefinition, HistoryRecord, OldRecord

from .row_mapping import field_document, record_values

MAX_INLINE_LENGTH = 1_024
"""The length of the longest value in a document, in characters of JSON. The reference to a value
and its row have about 300."""

_json = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode
# In a text, JSON escapes the quotation marks, so a reference is never a part of one.
_REFERENCE = re.compile(r'\{"sha256":"([0-9a-f]{64})"\}')


@frozen
class SharedDocument:
    """The document of a field, and the JSON of each value that it refers to, by SHA-256 digest."""

    text: str
    values: Mapping[str, str]


@frozen
class SharedRecord:
    """The values of a record's row by column, and those that its documents refer to, by digest."""

    row: Mapping[str, str | int | None]
    values: Mapping[str, str]
    bytes: int
    """The size of its documents, which the row also has."""


def share_values(field: FieldDefinition) -> SharedDocument:
    """Return the document of the field, in which references replace large values."""
    document = field_document(field)
    if len(document) <= MAX_INLINE_LENGTH:
        return SharedDocument(document, {})
    values: dict[str, str] = {}

    def inline(value: object) -> object:
        text = _json(value)
        if len(text) <= MAX_INLINE_LENGTH:
            return value
        digest = sha256(text.encode()).hexdigest()
        values[digest] = text
        return {"sha256": digest}

    members: Mapping[str, object] = json.loads(document)
    return SharedDocument(_json({name: inline(value) for name, value in members.items()}), values)


def shared_record(record: HistoryRecord) -> SharedRecord:
    """Return the row of a record, with the column `bytes`, and its shared values."""
    values: dict[str, str] = {}

    def document(field: FieldDefinition) -> str:
        shared = share_values(field)
        values.update(shared.values)
        return shared.text

    row = record_values(record, document)
    size = document_bytes(row)
    return SharedRecord({**row, "bytes": size}, values, size)


@frozen
class RecordSizes:
    """The size of a record's documents, and those of its shared values by digest."""

    documents: int
    values: Mapping[str, int]


def record_sizes(record: HistoryRecord) -> RecordSizes:
    """Return the sizes of a record and its shared values."""
    shared = shared_record(record)
    values = {digest: len(value.encode()) for digest, value in shared.values.items()}
    return RecordSizes(shared.bytes, values)


def old_records(
    records: Iterable[HistoryRecord],
    sizes_of: Callable[[HistoryRecord], RecordSizes] = record_sizes,
) -> list[OldRecord]:
    """Return all records of a history, by ascending sequence, with the bytes that each one frees.

    A storage whose histories are short can use this instead of a stored size. `sizes_of` can return
    sizes that were measured before.
    """
    freed: dict[int, int] = {}
    values: dict[str, tuple[int, int]] = {}
    records = list(records)
    for record in records:
        sizes = sizes_of(record)
        freed[record.sequence] = sizes.documents
        values.update((each, (record.sequence, size)) for each, size in sizes.values.items())
    for sequence, size in values.values():
        freed[sequence] += size
    return [OldRecord(r.sequence, r.occurred_at, freed[r.sequence]) for r in records]


def document_bytes(row: Mapping[str, Any]) -> int:
    """Return the size of the documents in the row of a record."""
    documents = (row.get(column) for column in ("author", "before", "after"))
    return sum(len(each.encode()) for each in documents if each is not None)


def digests_in(documents: Iterable[str | None]) -> set[str]:
    """Return the digests to which the documents refer."""
    return {digest for each in documents if each is not None for digest in _REFERENCE.findall(each)}


def insert_values(document: str | None, values: Mapping[str, str]) -> str | None:
    """Return the document with the values instead of the references.

    Raises: KeyError if a value is absent.
    """
    if document is None or '{"sha256":"' not in document:
        return document
    return _REFERENCE.sub(lambda reference: values[reference[1]], document)
