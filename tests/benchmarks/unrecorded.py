"""The service as it would be without the history: a creation stores the field, but no record."""

from __future__ import annotations

import re

import pytest

from recipient_fields.adapters.postgres import change_statements, changes, fields
from recipient_fields.adapters.shared_values import SharedDocument
from recipient_fields.entrypoints.cli import main


def _without(statement: str, part: str, replacement: str = "") -> str:
    """Return the statement without the part that the pattern matches exactly once."""
    shorter, count = re.subn(part, replacement, statement, flags=re.DOTALL)
    assert count == 1, part
    return shorter


def _unrecorded(statement: str) -> str:
    """Return the statement without its record, the sequence number and the time of the record."""
    statement = _without(statement, r", recorded AS \(.*?FROM catalog, added\s*\)")
    statement = _without(statement, r",\s*last_sequence = .*?(?=\s*FROM added)")
    returning = "RETURNING last_sequence, last_change_at"
    return _without(statement, returning, "RETURNING organizations.id")


with pytest.MonkeyPatch.context() as patch:
    statement = _unrecorded(change_statements.insert_field())
    patch.setattr(fields, "insert_field", lambda: statement)
    patch.setattr(changes, "author_document", lambda _: "{}")
    patch.setattr(fields, "share_values", lambda _: SharedDocument("{}", {}))
    main()
