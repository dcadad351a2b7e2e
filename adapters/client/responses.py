"""Fields, catalogs, pages and records in the responses of a service.

Members that later versions of the service add are ignored.
"""

from __future__ import annotations

import re
from collections import OrderedDict
from collections.abc import Sequence
from itertools import pairwise
from operator import attrgetter
from threading import Lock
from typing import Any, TypeAlias, TypeVar
from urllib.parse import parse_qs, urlsplit

from attrs import Factory, evolve, frozen

from recipient_fields.application import FieldCodeDocument, FieldDocument, NotJson
from recipient_fields.application.content.code_documents import FieldCodeListDocument
from recipient_fields.application.content.conversions import ConvertedTagDocument
from recipient_fields.application.documents.conversion import parse_document
from recipient_fields.application.documents.strict_json import parse_json
from recipient_fields.application.esp.documents import IntegrationListDocument
from recipient_fields.application.fields.batch_documents import (
    BatchResultListDocument,
    MinimalBatchResultListDocument,
)
from recipient_fields.application.fields.documents import (
    FieldEnvelopeDocument,
    FieldListDocument,
    HistoryRecordDocument,
    HistoryRecordListDocument,
)
from recipient_fields.domain import (
    Batch,
    Catalog,
    FieldId,
    FieldIdentity,
    FieldKey,
    FieldPage,
    FieldQuery,
    HistoryPage,
    HistoryRecord,
    InvalidInput,
    OrganizationId,
    OrganizationNotFound,
    RecipientField,
    Rule,
    StorageUnavailable,
    Violation,
)
from recipient_fields.domain.conditions import LocatedViolation, TextPosition
from recipient_fields.domain.content import (
    ContentWarning,
    PreviewedContent,
    Surface,
    WarningCode,
    WarningKind,
)
from recipient_fields.domain.esp import ConditionCode, ConditionWarning, Esp, ExportedContent
from recipient_fields.domain.integrations import (
    Conversion,
    ConvertedTag,
    Integration,
    Outcome,
    UsedField,
)

from ..network import Response

_INDEX = re.compile(r"0|[1-9][0-9]{0,6}")


@frozen
class Detail:
    """A violation, or a failed operation of a batch."""

    pointer: str
    code: str
    message: str
    line: int | None = None
    column: int | None = None
    suggestion: str | None = None
    existing_id: FieldId | None = None
    existing_key: FieldKey | None = None
    limit: int | None = None
    used: int | None = None

    def to_violation(self) -> Violation:
        """Return the violation. Its path is relative to the member of the body that it is about."""
        return Violation(_rule(self.code), self.message, _path(self.pointer), self.suggestion)

    def to_located_violation(self) -> LocatedViolation:
        """Return the violation at its place in the content, or at its beginning without a place."""
        position = TextPosition(self.line or 1, self.column or 1)
        reason = self.message.removeprefix(f"{position}: ")
        return position.locate(Violation(_rule(self.code), reason, suggestion=self.suggestion))


def _rule(code: str) -> Rule:
    try:
        return Rule(code)
    except ValueError:  # A later version of the service has added the code.
        return Rule.FORMAT


def _path(pointer: str) -> tuple[str | int, ...]:
    """Return the path in a JSON pointer, without the root. Below a member, digits are an index."""
    steps = [step.replace("~1", "/").replace("~0", "~") for step in pointer.split("/")[2:]]
    path: list[Any] = steps[:1]
    path += [int(step) if _INDEX.fullmatch(step) else step for step in steps[1:]]
    return tuple(path)


_Position: TypeAlias = tuple[OrganizationId, FieldQuery]


class Cursors:
    """A cache of the cursors of next pages. It is thread-safe, and evicts the oldest entry."""

    def __init__(self, maximum: int) -> None:
        self._maximum = maximum
        self._cursors: OrderedDict[_Position, str] = OrderedDict()
        self._lock = Lock()

    def find(self, organization_id: OrganizationId, query: FieldQuery) -> str | None:
        """Return the cursor of the position at which the query starts, if it is known."""
        with self._lock:
            return self._cursors.get(_position(organization_id, query))

    def add(self, query: FieldQuery, page: FieldPage, cursor: str | None) -> None:
        """Store the cursor of the next page, if there is one."""
        if cursor is None:
            return
        with self._lock:
            position = _position(page.organization_id, evolve(query, after=page.next))
            self._cursors[position] = cursor
            self._cursors.move_to_end(position)
            if len(self._cursors) > self._maximum:
                self._cursors.popitem(last=False)


def _position(organization_id: OrganizationId, query: FieldQuery) -> _Position:
    """Return the position without the limit: a cursor is valid for pages of any size."""
    return organization_id, evolve(query, limit=None)


T = TypeVar("T")

_MEDIA_TYPE = "application/json"
_TAG = re.compile(r'(?:W/)?"([\x21\x23-\x7e]+)"')
_CATALOG_TAG = re.compile(r"([0-9]{1,16})-([0-9a-f]{1,16})")
_NUMBER = re.compile(r"[0-9]{1,15}")
_LINK = re.compile(r'<([^<>]*)>; *rel="next"')


def invalid_response(reason: str) -> StorageUnavailable:
    """Return the error for a response that is not one of the API, without what it contains."""
    return StorageUnavailable(
        f"The service's response does not match its contract: {reason}. It may be of another"
        " version than the client: upgrade the older one."
    )


@frozen
class _ContentWarning:
    line: int
    column: int
    message: str
    kind: str
    code: str
    places: list[TextPosition]

    def to_warning(self) -> ContentWarning:
        """Return the warning."""
        code = _warning_code(self.code, self.kind)
        return ContentWarning(self.line, self.column, self.message, code, tuple(self.places))


@frozen
class _ExportedContent:
    content: str
    surface: Surface
    warnings: list[_ContentWarning]
    fields: list[str]
    event: list[str] = Factory(list)


@frozen
class _Conversion:
    content: str
    tags: dict[str, int]
    by_hand: list[ConvertedTagDocument]
    caveats: list[ConvertedTagDocument]
    dropped: list[ConvertedTagDocument]
    fields: list[UsedField]
    unused_names: list[str]
    warnings: list[_ContentWarning]


@frozen
class _PreviewedContent:
    content: str
    surface: Surface
    fields: list[str]
    unlisted_values: list[Detail]
    event: list[str] = Factory(list)


@frozen
class _ConditionWarning:
    message: str
    kind: str
    code: str


@frozen
class _CompiledCondition:
    esp: Esp
    code: str
    prelude: str | None
    warnings: list[_ConditionWarning]


def field_of(response: Response, organization_id: OrganizationId) -> RecipientField:
    """Return the field. Raises: StorageUnavailable if its version is not that in `ETag`."""
    field = _field(read_document(response, FieldEnvelopeDocument).recipient_field, organization_id)
    if version_of(response) != field.version_tag:
        raise invalid_response("its ETag is not that of this version of the field")
    return field


def catalog_of(response: Response, organization_id: OrganizationId) -> Catalog:
    """Return all fields. Raises: StorageUnavailable if some are missing or not sorted by id."""
    fields = _fields(response, organization_id)
    _require_ascending("fields", "id", [field.id for field in fields])
    if _total(response) != len(fields):
        raise invalid_response("it has another number of fields than Total-Count")
    return Catalog(organization_id, _revision(response, organization_id), fields)


def page_of(
    response: Response, organization_id: OrganizationId, query: FieldQuery
) -> tuple[FieldPage, str | None]:
    """Return the page, and the cursor of the next page if there is one.

    Raises: StorageUnavailable if the response does not match the contract.
    """
    fields = _fields(response, organization_id)
    cursor = _next(response, "cursor")
    if cursor is not None and not fields:
        raise invalid_response("an empty page has a next page")
    page = FieldPage(
        organization_id,
        _revision(response, organization_id),
        fields,
        _total(response),
        None if cursor is None else query.position_of(fields[-1]),
    )
    return page, cursor


def is_minimal(response: Response) -> bool:
    """Return whether the response to a batch contains ids and keys instead of fields."""
    applied = response.headers.get("Preference-Applied", "")
    return "return=minimal" in (each.strip().lower() for each in applied.split(","))


def identities_of(response: Response, batch: Batch) -> tuple[FieldIdentity | None, ...]:
    """Return the id and key of each field. Raises: StorageUnavailable if some are missing."""
    results = read_document(response, MinimalBatchResultListDocument).results
    _require_results(len(results), batch)
    return tuple(
        None
        if each.id is None or each.key is None
        else FieldIdentity(FieldId(each.id), FieldKey(each.key))
        for each in results
    )


def results_of(
    response: Response, organization_id: OrganizationId, batch: Batch
) -> tuple[RecipientField | None, ...]:
    """Return the field of each operation. Raises: StorageUnavailable if some are missing."""
    fields = [
        result.recipient_field
        for result in read_document(response, BatchResultListDocument).results
    ]
    _require_results(len(fields), batch)
    return tuple(None if each is None else _field(each, organization_id) for each in fields)


def _require_results(count: int, batch: Batch) -> None:
    if count != len(batch.operations):
        raise invalid_response("it has another number of results than the batch has operations")


def integrations_of(response: Response, organization_id: OrganizationId) -> tuple[Integration, ...]:
    """Return all integrations. Raises: StorageUnavailable if they are not sorted by id."""
    documents = read_document(response, IntegrationListDocument).integrations
    _require_ascending("integrations", "id", [each.id for each in documents])
    try:
        return tuple(each.to_integration(organization_id) for each in documents)
    except InvalidInput as invalid:
        raise _invalid(invalid) from None


def codes_of(response: Response) -> tuple[FieldCodeDocument, ...]:
    """Return the codes of a field. Raises: StorageUnavailable if they do not match the contract."""
    return tuple(read_document(response, FieldCodeListDocument).codes)


def exported_of(response: Response) -> ExportedContent:
    """Return the exported content. Raises: StorageUnavailable if it does not match the contract."""
    document = read_document(response, _ExportedContent)
    return ExportedContent(
        content=document.content,
        surface=document.surface,
        warnings=tuple(each.to_warning() for each in document.warnings),
        keys=tuple(document.fields),
        event=tuple(document.event),
        resolved={},
    )


def conversion_of(response: Response) -> Conversion:
    """Return the conversion. Raises: StorageUnavailable if it does not match the contract."""
    document = read_document(response, _Conversion)
    reported = (
        (Outcome.BY_HAND, document.by_hand),
        (Outcome.CAVEAT, document.caveats),
        (Outcome.DROPPED, document.dropped),
    )
    tags = [
        ConvertedTag(
            position=TextPosition(each.line, each.column),
            text=each.tag,
            outcome=outcome,
            reasons=tuple(each.reasons),
        )
        for outcome, found in reported
        for each in found
    ]
    return Conversion(
        content=document.content,
        counts={each: document.tags.get(each.value, 0) for each in Outcome},
        tags=tuple(sorted(tags, key=attrgetter("position"))),
        fields=tuple(document.fields),
        unused_names=tuple(document.unused_names),
        warnings=tuple(each.to_warning() for each in document.warnings),
    )


def preview_of(response: Response) -> PreviewedContent:
    """Return the content. Raises: StorageUnavailable if it does not match the contract."""
    document = read_document(response, _PreviewedContent)
    return PreviewedContent(
        content=document.content,
        surface=document.surface,
        keys=tuple(document.fields),
        event=tuple(document.event),
        unlisted=tuple(each.to_violation() for each in document.unlisted_values),
    )


def compiled_of(response: Response) -> tuple[Esp, ConditionCode]:
    """Return the ESP and its code. Raises: StorageUnavailable if it does not match the contract."""
    document = read_document(response, _CompiledCondition)
    warnings = tuple(
        ConditionWarning(each.message, _warning_code(each.code, each.kind), ())
        for each in document.warnings
    )
    return document.esp, ConditionCode(document.code, document.prelude, warnings)


def _warning_code(code: str, kind: str) -> WarningCode:
    """Return the code, or a general one of the kind if a later version has added the code."""
    try:
        return WarningCode(code)
    except ValueError:
        is_mistake = kind == WarningKind.MISTAKE.value
        return WarningCode.FOREIGN_CODE if is_mistake else WarningCode.POSSIBLY_FOREIGN_CODE


def _require_ascending(items: str, number: str, numbers: Sequence[int]) -> None:
    if any(first >= second for first, second in pairwise(numbers)):
        raise invalid_response(f"its {items} are not sorted by {number}")


def organization_of(response: Response) -> OrganizationId:
    """Return the organization of a list. Raises: StorageUnavailable without the ETag of a list."""
    return OrganizationId(int(_catalog_tag(response)[1]))


def history_of(response: Response, organization_id: OrganizationId) -> HistoryPage:
    """Return the page of the history.

    Raises: StorageUnavailable if the records are not sorted by sequence number, or the link to the
    next page does not continue after the last one.
    """
    documents = read_document(response, HistoryRecordListDocument).recipient_field_changes
    records = tuple(_record(document, organization_id) for document in documents)
    sequences = [record.sequence for record in records]
    _require_ascending("records", "sequence number", sequences)
    after = _next(response, "after")
    if after is None:
        return HistoryPage(records, None)
    if not records or after != str(sequences[-1]):
        raise invalid_response("the next page does not continue after the last record")
    return HistoryPage(records, sequences[-1])


def read_document(response: Response, kind: type[T]) -> T:
    """Return the JSON as a value of this class. Raises: StorageUnavailable if it does not match."""
    media_type = response.headers.get("Content-Type", "").partition(";")[0].strip().lower()
    if media_type != _MEDIA_TYPE:
        raise invalid_response(f"it is not {_MEDIA_TYPE}")
    try:
        return parse_document(parse_json(response.body), kind, ignore_unknown=True)
    except NotJson:
        raise invalid_response("it is not JSON") from None
    except InvalidInput as invalid:
        raise _invalid(invalid) from None


def version_of(response: Response) -> str | None:
    """Return the version in `ETag`, or None if it is not an entity tag."""
    tag = _TAG.fullmatch(response.headers.get("ETag", ""))
    return None if tag is None else tag[1]


def _field(document: FieldDocument, organization_id: OrganizationId) -> RecipientField:
    try:
        return document.to_field(organization_id)
    except InvalidInput as invalid:
        raise _invalid(invalid) from None


def _record(document: HistoryRecordDocument, organization_id: OrganizationId) -> HistoryRecord:
    try:
        return document.to_record(organization_id)
    except InvalidInput as invalid:
        raise _invalid(invalid) from None
    except ValueError as invalid:
        raise invalid_response(str(invalid)) from None


def _fields(response: Response, organization_id: OrganizationId) -> tuple[RecipientField, ...]:
    documents = read_document(response, FieldListDocument).recipient_fields
    return tuple(_field(document, organization_id) for document in documents)


def _invalid(invalid: InvalidInput) -> StorageUnavailable:
    """Return the error with the first violation, without its suggestion, which can contain data."""
    return invalid_response(str(InvalidInput(invalid.violations[:1])).rstrip("."))


def _revision(response: Response, organization_id: OrganizationId) -> int:
    tag = _catalog_tag(response)
    if int(tag[1]) != organization_id:
        error = OrganizationNotFound()
        error.add_note(f"The API key of {organization_id} is of organization {tag[1]}.")
        raise error
    return int(tag[2], 16)


def _catalog_tag(response: Response) -> re.Match[str]:
    tag = _CATALOG_TAG.fullmatch(version_of(response) or "")
    if tag is None:
        raise invalid_response("its ETag is not that of a catalog")
    return tag


def _total(response: Response) -> int:
    total = response.headers.get("Total-Count", "")
    if _NUMBER.fullmatch(total) is None:
        raise invalid_response("it has no valid Total-Count")
    return int(total)


def _next(response: Response, parameter: str) -> str | None:
    """Return the parameter in the link to the next page, or None if there is no link."""
    link = response.headers.get("Link")
    if link is None:
        return None
    target = _LINK.fullmatch(link)
    values = [] if target is None else parse_qs(urlsplit(target[1]).query).get(parameter, [])
    if len(values) != 1:
        raise invalid_response(f"its Link has no {parameter} of the next page")
    return values[0]
