"""What makes a request valid and no schema can say."""

from __future__ import annotations

from typing import Any

import schemathesis

from recipient_fields.domain import FieldKey, InvalidField


@schemathesis.hook
def before_call(
    context: schemathesis.HookContext, case: schemathesis.Case[Any], kwargs: dict[str, Any]
) -> None:
    # Where Schemathesis takes a header from an answer, it takes numbers as they are.
    for header, value in case.headers.items():
        case.headers[header] = str(value)
    if case.meta is None or not case.meta.generation.mode.is_positive:
        return
    # A cursor is one that the service gave; following `Link` is tested elsewhere.
    case.query.pop("cursor", None)
    # Of a field that is not synced, Schemathesis takes null for its integration's id.
    if str(case.query.get("integration_id")) in {"", "None"}:
        case.query.pop("integration_id", None)
    # Schemathesis makes up versions, of which few exist, and beside them numbers that are none: let
    # some of the changes come through.
    for header in ("If-Match", "If-None-Match"):
        value = case.headers.get(header, "")
        if value.isdigit() or len(value) % 4 > 1:
            del case.headers[header]
    if case.operation.definition.raw.get("operationId") == "create_recipient_field":
        _give_a_key(case.body)


def _give_a_key(body: Any) -> None:
    """A name that yields no key needs one."""
    match body:
        case {"recipient_field": {"name": str(name)} as field} if "key" not in field:
            try:
                FieldKey.derived_from(name)
            except InvalidField:
                field["key"] = f"key_{len(name)}"
