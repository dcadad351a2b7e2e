"""The documents of batches: parse and render them, and render results."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from attrs import asdict, field, frozen

from recipient_fields.domain import (
    ANY_VERSION,
    MAX_BATCH_OPERATIONS,
    MAX_SAFE_INTEGER,
    Batch,
    BatchOperation,
    CreateField,
    DeleteField,
    FieldChanges,
    FieldDraft,
    FieldId,
    FieldKey,
    FieldReference,
    InvalidInput,
    RecipientField,
    ReplaceField,
    Rule,
    UpdateField,
    Violation,
    Violations,
    closest_match,
)

from ..documents.conversion import (
    MAX_VIOLATIONS,
    checked,
    parse_document,
)
from ..documents.schemas import NamedSchema, Reference, described, extended, named, render_document
from ..documents.strict_json import render_json
from ..documents.value_schemas import ENTITY_TAG, FIELD_REFERENCE, REPLACEMENT
from .documents import FieldDocument, render_field
from .inputs import (
    parse_changes,
    parse_new_field,
    parse_replacement,
    render_input,
)

_ENTITY_TAG = re.compile(r'("?)([\x21\x23-\x7e]+)\1')
"""An entity tag with the quotes of the header `ETag`, or without them."""

_RESULTS = b'{"results":[%s]}'


@frozen(kw_only=True)
class _Operation:
    operation: str
    reference: object = None
    recipient_field: object = None
    if_match: str | None = None


def parse_batch(document: object, *, can_be_empty: bool = False) -> Batch:
    """Return the batch of `{"operations": [{"operation", "reference", …}], "if_revision"}`.

    A request has at least one operation. If `can_be_empty` is true, there can be none.
    Raises: InvalidDocument with the violations of all operations.
    """
    with checked(document) as violations:
        batch = parse_document(document, RecipientFieldBatchDocument)
        with violations.collect("operations"):
            _require_count(len(batch.operations), minimum=0 if can_be_empty else 1)
        operations = []
        for index, each in enumerate(batch.operations[:MAX_BATCH_OPERATIONS]):
            if len(violations) >= MAX_VIOLATIONS:
                break  # The error lists no more, and a hostile document could cost seconds.
            with violations.collect("operations", index):
                operations.append(_parse_operation(each))
        expected_version = None
        with violations.collect("if_revision"):
            expected_version = _parse_tag(batch.if_revision)
    return Batch(tuple(operations), expected_version)


def render_batch_results(results: Iterable[RecipientField | None], max_bytes: int) -> bytes | None:
    """Return the JSON document of the fields of all operations, in order.

    Return None if it has more than `max_bytes`: a small batch can change large fields.
    """
    documents: list[bytes] = []
    remaining = max_bytes - len(_RESULTS % b"")
    for each in results:
        result = {"recipient_field": None if each is None else render_field(each)}
        documents.append(render_json(result))
        remaining -= len(documents[-1]) + 1
        if remaining < -1:  # There is no comma after the last one.
            return None
    return _RESULTS % b",".join(documents)


def render_minimal_results(results: Iterable[RecipientField | None]) -> dict[str, object]:
    """Return the document with the id and the key of the field of each operation, in order."""
    documents = [
        MinimalBatchResultDocument(None, None)
        if each is None
        else MinimalBatchResultDocument(each.id, each.key)
        for each in results
    ]
    return render_document(MinimalBatchResultListDocument(documents))


def render_batch(batch: Batch) -> dict[str, object]:
    """Return the document from which `parse_batch` returns this batch."""
    document: dict[str, object] = {"operations": [_render_operation(o) for o in batch.operations]}
    if batch.expected_version is not None:
        document["if_revision"] = batch.expected_version
    return document


def _render_operation(operation: BatchOperation) -> dict[str, object]:
    match operation:
        case CreateField(draft):
            return {"operation": "create", **render_input(draft)}
        case UpdateField(reference, changes, version):
            return _render_change("update", reference, version) | render_input(changes)
        case ReplaceField(reference, changes, version):
            return _render_change("replace", reference, version) | render_input(changes)
        case DeleteField(reference, version):
            return _render_change("delete", reference, version)


def _render_change(
    operation: str, reference: FieldReference, expected_version: str | None
) -> dict[str, object]:
    document: dict[str, object] = {"operation": operation, "reference": reference}
    if expected_version is not None:
        document["if_match"] = expected_version
    return document


def _require_count(count: int, *, minimum: int) -> None:
    if count < minimum:
        raise InvalidInput([Violation(Rule.EMPTY, "Send at least one operation.")])
    if count > MAX_BATCH_OPERATIONS:
        message = f"A batch has at most {MAX_BATCH_OPERATIONS:,} operations."
        raise InvalidInput([Violation(Rule.TOO_MANY_ITEMS, message)])


def _parse_operation(value: object) -> BatchOperation:
    document = parse_document(value, _Operation)
    kind = _KINDS.get(document.operation)
    if kind is None:
        message = f"Use one of {', '.join(_KINDS)}."
        suggestion = closest_match(document.operation, _KINDS)
        raise InvalidInput(
            [Violation(Rule.UNKNOWN_VALUE, message, ("operation",), suggestion=suggestion)]
        )
    violations = Violations(_misplaced_members(document, kind))
    reference, expected_version = None, None
    if document.reference is not None:
        with violations.collect("reference"):
            reference = _parse_reference(document.reference)
    with violations.collect("if_match"):
        expected_version = _parse_tag(document.if_match)
    operation = None
    if "recipient_field" not in {violation.path[0] for violation in violations}:
        with violations.collect("recipient_field"):
            operation = kind.parse(document, reference, expected_version)
    if violations or operation is None:
        raise InvalidInput(violations)
    return operation


@frozen
class _Kind:
    """A kind of operation: its members, and how they are parsed."""

    description: str
    required: Mapping[str, object]
    """The schemas of the members that the operation must have, by name."""
    parse: Callable[[_Operation, Any, str | None], BatchOperation]

    @property
    def optional(self) -> Mapping[str, object]:
        """The schemas of the other members of the operation."""
        return {"if_match": _IF_MATCH} if "reference" in self.required else {}

    def schema(self, operation: str) -> NamedSchema:
        """Return the schema of this operation."""
        return named(
            f"{operation.capitalize()}Operation",
            type="object",
            description=self.description,
            properties={
                "operation": {"type": "string", "const": operation},
                **self.required,
                **self.optional,
            },
            required=["operation", *self.required],
            additionalProperties=False,
        )


_IF_MATCH = extended(
    ENTITY_TAG, description="The `ETag` that the field must have. Otherwise the operation fails."
)


def _parse_replacement(
    document: _Operation, reference: FieldReference, expected_version: str | None
) -> ReplaceField:
    key = str(reference) if isinstance(reference, str) else None
    return ReplaceField(
        reference,
        parse_replacement(document.recipient_field, key, checked=True),
        expected_version,
    )


_KINDS: Mapping[str, _Kind] = {
    "create": _Kind(
        "Creates a field.",
        {"recipient_field": FieldDraft},
        lambda document, *_: CreateField(parse_new_field(document.recipient_field, checked=True)),
    ),
    "update": _Kind(
        "Changes some members of a field.",
        {"reference": FIELD_REFERENCE, "recipient_field": FieldChanges},
        lambda document, reference, version: UpdateField(
            reference, parse_changes(document.recipient_field, checked=True), version
        ),
    ),
    "replace": _Kind(
        "Replaces all writable members of a field, or creates the field if its key is free.",
        {"reference": FIELD_REFERENCE, "recipient_field": REPLACEMENT},
        _parse_replacement,
    ),
    "delete": _Kind(
        "Deletes a field.",
        {"reference": FIELD_REFERENCE},
        lambda _document, reference, version: DeleteField(reference, version),
    ),
}
_SCHEMAS = {name: kind.schema(name) for name, kind in _KINDS.items()}
_OPERATION = named(
    "BatchOperation",
    oneOf=list(_SCHEMAS.values()),
    discriminator={
        "propertyName": "operation",
        "mapping": {name: Reference(schema) for name, schema in _SCHEMAS.items()},
    },
)


@frozen(kw_only=True)
class RecipientFieldBatchDocument:
    """Operations that take effect together, or not at all."""

    operations: list[object] = field(
        metadata=described(
            "Each operation sees the effects of those before it.",
            {"type": "array", "items": _OPERATION},
            minItems=1,
            maxItems=MAX_BATCH_OPERATIONS,
        )
    )
    if_revision: str | None = field(
        default=None,
        metadata=described(
            "The `ETag` that the list must have. Otherwise the response is 412.", ENTITY_TAG
        ),
    )


@frozen
class BatchResultDocument:
    """The effect of one operation."""

    recipient_field: FieldDocument | None = field(
        metadata=described("The field after the batch, or null if it does not exist then.")
    )


@frozen
class MinimalBatchResultDocument:
    """The field of one operation, without its other members."""

    id: int | None = field(
        metadata=described("The id of the field, or null if it does not exist after the batch.")
    )
    key: str | None = field(metadata=described("The key of the field, or null as `id` is."))


@frozen
class MinimalBatchResultListDocument:
    """The ids and keys of the fields of all operations, in order."""

    results: list[MinimalBatchResultDocument]


@frozen
class BatchResultListDocument:
    """The effects of all operations, in order."""

    results: list[BatchResultDocument]


def _misplaced_members(document: _Operation, kind: _Kind) -> Iterable[Violation]:
    """Yield a violation for each member that is missing, or that this operation does not have."""
    for member, value in asdict(document, recurse=False).items():
        if member in kind.required and value is None:
            yield Violation(Rule.REQUIRED, "Add this member.", (member,))
        elif member not in ("operation", *kind.required, *kind.optional) and value is not None:
            message = f"The operation {document.operation} does not have this member."
            yield Violation(Rule.NOT_APPLICABLE, message, (member,))


def _parse_reference(value: object) -> FieldReference:
    if isinstance(value, str):
        return FieldKey(value)
    if type(value) is int and 1 <= value <= MAX_SAFE_INTEGER:
        return FieldId(value)
    message = "Send the id of a field, such as 1, or its key, such as loyalty_tier."
    raise InvalidInput([Violation(Rule.TYPE, message)])


def _parse_tag(text: str | None) -> str | None:
    """Return the entity tag without quotes."""
    if text is None:
        return None
    match = _ENTITY_TAG.fullmatch(text)
    if match is None or text == ANY_VERSION.value:
        message = "Send one entity tag, as the header ETag of a response contains it."
        raise InvalidInput([Violation(Rule.FORMAT, message)])
    return match[2]
