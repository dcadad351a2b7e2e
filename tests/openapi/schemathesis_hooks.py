"""Corrections of generated requests for rules that a schema can't express."""

from __future__ import annotations

from typing import Any

import schemathesis

from recipient_fields.domain import FieldKey, InvalidField, parse_instant


@schemathesis.hook
def before_call(
    context: schemathesis.HookContext, case: schemathesis.Case[Any], kwargs: dict[str, Any]
) -> None:
    # Schemathesis copies numbers from responses to headers without converting them to text.
    for header, value in case.headers.items():
        case.headers[header] = str(value)
    if case.meta is None or not case.meta.generation.mode.is_positive:
        return
    # Only the service creates valid cursors. Other tests follow `Link`.
    case.query.pop("cursor", None)
    # A pattern can't exclude dates such as February 30.
    if "as_of" in case.query and not _is_instant(str(case.query["as_of"])):
        del case.query["as_of"]
    # Schemathesis copies the `integration_id` null of fields that are not synced.
    if str(case.query.get("integration_id")) in {"", "None"}:
        case.query.pop("integration_id", None)
    # Few of the generated entity tags exist, and numbers are invalid. Remove some of them, so that
    # some changes succeed.
    for header in ("If-Match", "If-None-Match"):
        value = case.headers.get(header, "")
        if value.isdigit() or len(value) % 4 > 1:
            del case.headers[header]
    match case.operation.definition.raw.get("operationId"):
        case "create_recipient_field":
            _add_key(case.body)
        case "list_merge_tags":
            # A schema can't say that exactly one of two parameters is required.
            case.query.pop("integration_id", None)
            case.query.setdefault("esp", "braze")
        case "apply_recipient_field_batch":
            _make_unconditional(case.body)


def _is_instant(text: str) -> bool:
    try:
        parse_instant(text)
    except (ValueError, OverflowError):
        return False
    return True


def _make_unconditional(batch: Any) -> None:
    """Remove preconditions, which generated entity tags never fulfil, and add missing keys."""
    batch.pop("if_revision", None)
    for operation in batch["operations"]:
        operation.pop("if_match", None)
        _add_key(operation)


def _add_key(body: Any) -> None:
    """Add a key if none can be derived from the name."""
    match body:
        case {"recipient_field": {"name": str(name)} as field} if "key" not in field:
            try:
                FieldKey.derived_from(name)
            except InvalidField:
                field["key"] = f"key_{len(name)}"
