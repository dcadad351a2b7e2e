"""A plan of fields and names at integrations is applied completely, or not at all."""

from __future__ import annotations

import signal
import subprocess
import sys
from textwrap import indent

import pytest

from recipient_fields.application import Core
from recipient_fields.domain.esp import Esp
from recipient_fields.domain.integrations import SetName

from ...support.postgres import KILL_BEFORE_STATEMENT, open_transactions
from ...support.waiting import eventually

pytestmark = pytest.mark.slow

APPLY = f"""
import sys
from contextlib import closing
from recipient_fields.adapters.postgres import PostgresStorage
from recipient_fields.application import Core
from recipient_fields.application.fields.fields_as_code import parse_field_document
from recipient_fields.application.fields.plans import plan_document
from recipient_fields.domain import API, Author

url, statement = sys.argv[1:]
field = {{"name": "City", "data_type": "text"}}
names = [
    {{"name": name, "esp": "braze", "names": {{"city": f"{{name}} city"}}}} for name in ("A", "B")
]
document = parse_field_document({{"fields": {{"city": field}}, "integrations": names}})
with closing(PostgresStorage(url)) as storage:
    core = Core.over(storage, history_limit=None)
    catalog, integrations = storage.integrations.read_catalog(1)
    plan = plan_document(catalog, document, integrations)
    {indent(KILL_BEFORE_STATEMENT, "    ")}
    core.integrations.by(Author(API)).apply_with_names(1, plan.batch, plan.names_to_set)
"""


def test_a_process_killed_before_any_statement_of_an_apply_changes_nothing(database, storage, ours):
    core = Core.over(storage)
    for name in "AB":
        core.integrations.create_integration(ours, esp=Esp("braze"), name=name)
    before = storage.integrations.read_catalog(ours)
    for statement in range(1, 100):
        process = subprocess.run(
            [sys.executable, "-c", APPLY, database, str(statement)],
            capture_output=True,
            text=True,
            check=False,
        )
        assert process.stderr == ""
        if process.returncode == 0:
            break
        assert process.returncode == -signal.SIGKILL
        eventually(lambda: not open_transactions(database), within=5)
        assert storage.integrations.read_catalog(ours) == before
    assert statement > 7, "BEGIN and lock, two reads, one field, two names, revision, COMMIT"
    catalog, integrations = storage.integrations.read_catalog(ours)
    [city] = catalog.fields
    assert [dict(each.names) for each in integrations] == [
        {city.id: SetName("A city")},
        {city.id: SetName("B city")},
    ]
