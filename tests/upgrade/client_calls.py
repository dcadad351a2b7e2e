"""Calls of the Python client, with the result of each as JSON.

It runs with the first release and with this version, so it uses only what both have:
`python client_calls.py URL KEY`.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from typing import Any

from recipient_fields.adapters.client import RecipientFieldsClient
from recipient_fields.domain import FieldChanges, FieldDraft, FieldQuery, RecipientFieldsError

ACME: Any = 1
RESULTS: list[object] = []


def call(function: Callable[..., Any], *arguments: Any, **named: Any) -> Any:
    """Call a method, and keep its result, or the class of its error."""
    try:
        result = function(ACME, *arguments, **named)
    except RecipientFieldsError as error:
        RESULTS.append([function.__name__, type(error).__name__])
        return None
    RESULTS.append([function.__name__, shown(result)])
    return result


def shown(result: Any) -> object:
    """Return what is the same in each run."""
    if isinstance(result, tuple):
        return [shown(each) for each in result]
    if hasattr(result, "fields"):
        return [shown(each) for each in result.fields]
    if not hasattr(result, "key"):
        return result
    values = result.allowed_values
    return {
        **{name: getattr(result, name) for name in ("id", "name", "key", "insertable")},
        "data_type": result.data_type.value,
        "allowed_values": None if values is None else list(values.values),
        "source": result.origin.source.value,
    }


def main() -> None:
    """Call each method with success, and then with each error that a client expects."""
    url, key = sys.argv[1:]
    with RecipientFieldsClient(url, keys={ACME: key}) as client:
        call(client.create_field, FieldDraft(name="Größe", key="size", data_type="number"))
        values = ["gold", "silver"]
        draft = FieldDraft(name="Tier", data_type="text", allowed_values=values)
        tier = call(client.create_field, draft)
        call(client.update_field, "tier", FieldChanges(name="Tier ☃", insertable=False))
        call(client.get_field, tier.id)
        call(client.list_fields)
        page = call(client.find_fields, FieldQuery(limit=1))
        call(client.find_fields, FieldQuery(limit=1, after=page.next))
        call(client.create_field, FieldDraft(name="Another", data_type="text", key="size"))
        call(client.get_field, "missing")
        call(client.update_field, "manual", FieldChanges(name="Mine"))
        call(client.create_field, FieldDraft(name="Third", data_type="text"))
        call(client.delete_field, "tier")
        call(client.list_fields)
    with RecipientFieldsClient(url, keys={ACME: f"{key[:-1]}-"}) as client:
        call(client.list_fields)
    sys.stdout.write(json.dumps(RESULTS, ensure_ascii=False))


if __name__ == "__main__":
    main()
