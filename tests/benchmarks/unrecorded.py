"""The service as it would be without the history: a creation stores the field, but no record."""

from __future__ import annotations

import re

import pytest
from attrs import evolve

from recipient_fields.adapters.postgres.fields import POSTGRES_SQL
from recipient_fields.adapters.relational import changes
from recipient_fields.adapters.relational.statements import NamedStatement
from recipient_fields.adapters.shared_values import SharedDocument
from recipient_fields.entrypoints.cli import main


def _without(statement: str, part: str, replacement: str = "") -> str:
    """Return the statement without the part that the pattern matches exactly once."""
    shorter, count = re.subn(part, replacement, statement, flags=re.DOTALL)
    assert count == 1, part
    return shorter


def _unrecorded(statement: NamedStatement) -> NamedStatement:
    """Return the statement without its record, the sequence number and the time of the record."""
    text = _without(statement.template, r", recorded AS \(.*?FROM catalog, added\s*\)")
    text = _without(text, r",\s*last_sequence = .*?(?=\s*FROM added)")
    returning = "RETURNING last_sequence, last_change_at"
    return evolve(statement, template=_without(text, returning, "RETURNING organizations.id"))


with pytest.MonkeyPatch.context() as patch:
    patch.setattr(POSTGRES_SQL, "create_field", _unrecorded(POSTGRES_SQL.create_field))
    patch.setattr(changes, "author_document", lambda _: "{}")
    patch.setattr(changes, "share_values", lambda _: SharedDocument("{}", {}))
    main()
