"""Requests to a service: bodies, headers and query strings.

The client rejects values that JSON can't contain, with the same error as the service.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable, Mapping
from datetime import date, datetime
from time import monotonic
from typing import Any
from urllib.parse import urlencode

from attrs import field, frozen
from attrs.validators import ge, gt, le
from urllib3.exceptions import LocationParseError
from urllib3.util import Url, parse_url

from recipient_fields.application import Target, system_clock
from recipient_fields.application.conditions.documents import render_condition_document
from recipient_fields.application.documents.strict_json import render_json
from recipient_fields.application.fields.batch_documents import render_batch
from recipient_fields.application.fields.inputs import render_input
from recipient_fields.domain import (
    ANY_VERSION,
    API,
    Batch,
    BatchOperation,
    BatchRejected,
    CreateField,
    DeleteField,
    FieldChanges,
    FieldDraft,
    FieldQuery,
    HistoryQuery,
    InvalidField,
    Precondition,
    RecipientFieldsError,
    ReplaceField,
    Rule,
    StorageUnavailable,
    UpdateField,
    Versions,
    Violation,
    character_violation,
    format_instant,
)
from recipient_fields.domain.arguments import require_type
from recipient_fields.domain.conditions import Condition, InvalidRecipient
from recipient_fields.domain.conditions.tree import require_condition
from recipient_fields.domain.content import Content, Strict, Surface
from recipient_fields.domain.content.tree import require_content
from recipient_fields.domain.content.warning_codes import require_strict
from recipient_fields.domain.esp import PORTABLE, Esp, ExportOptions
from recipient_fields.domain.integrations import ConversionOptions

from ..network import (
    Connections,
    Failure,
    Outcome,
    Request,
    Response,
    is_secure,
    jitter,
    retry_after,
    send,
)
from .errors import code_of

_PATH = re.compile(r"(/[A-Za-z0-9._~-]+)*/?")


def parse_base_url(text: str, *, plaintext: bool) -> Url:
    """Return the base URL. `plaintext` permits http to other hosts.

    Raises: ValueError, without the URL, if it can't be used.
    """
    try:
        url = parse_url(text)
    except LocationParseError:
        raise ValueError(_BASE_URL) from None
    is_known = url.scheme in {"http", "https"} and url.host and _PATH.fullmatch(url.path or "")
    if not is_known or url.auth or url.query is not None or url.fragment is not None:
        raise ValueError(_BASE_URL)
    if not (is_secure(url) or plaintext):
        message = "API keys would be sent in plain text. Use https."
        raise ValueError(message)
    return url


_BASE_URL = (
    "Invalid URL of the service: use one like https://fields.example.com or"
    " https://example.com/fields."
)


_RETRIED_STATUSES = {408, 429, 502, 503, 504}
_NOT_STARTED_CODES = {"api_key_validation_unavailable", "overloaded", "request_timeout"}
"""The codes of responses that the service sends before it starts the request."""
_DAY = 86_400.0


@frozen(kw_only=True)
class RetryPolicy:
    """The limits of a call. Times are in seconds, up to a day.

    A call takes at most `deadline`, including waits and retries, and sends at most `attempts`
    requests. Opening a connection takes at most `connect_timeout`. Before a retry, the client waits
    for the time in `Retry-After` plus a random time between half of `backoff` and all of it.
    `backoff` doubles with each retry. A response has at most `max_response` bytes.
    Raises: ValueError if a value is out of range.
    """

    deadline: float = field(default=10.0, validator=[gt(0.0), le(_DAY)])
    connect_timeout: float = field(default=3.0, validator=[gt(0.0), le(_DAY)])
    attempts: int = field(default=4, validator=ge(1))
    backoff: float = field(default=0.1, validator=[ge(0.0), le(_DAY)])
    max_response: int = field(default=64 * 2**20, validator=ge(0))


def call(
    connections: Connections, request: Request, policy: RetryPolicy, *, stores: bool
) -> Response:
    """Send the request, retry it while that is safe, and return the last response.

    A request that stores nothing is retried after each failure that can be temporary. Another one
    is retried only if the service can't have started it: if the response is lost, the change may be
    stored. Raises: StorageUnavailable if no response arrives.
    """

    def wait(outcome: Outcome, attempt: int) -> float | None:
        if attempt >= policy.attempts or not _may_retry(outcome, stores):
            return None
        return retry_after(outcome) + jitter(policy.backoff * 2 ** (attempt - 1))

    outcome = send(connections, request, deadline=monotonic() + policy.deadline, wait=wait)
    if isinstance(outcome, Failure):
        raise StorageUnavailable(f"The service {outcome.what}.")
    return outcome


def _may_retry(outcome: Outcome, stores: bool) -> bool:  # noqa: FBT001
    if isinstance(outcome, Failure):
        return (outcome.not_sent or not stores) and not outcome.permanent
    if outcome.status not in _RETRIED_STATUSES:
        return False
    return not stores or code_of(outcome) in _NOT_STARTED_CODES


_TAG = re.compile(r"[\x21\x23-\x7e]+")
_MAX_QUERY = 4_000
"""Maximum length in characters. Proxies may reject longer URLs."""


def input_body(values: FieldDraft | FieldChanges) -> bytes:
    """Return the body of a POST, PATCH or PUT. Raises: InvalidField if JSON can't contain it."""
    _require_sendable(values)
    return _encode(render_input(values))


def batch_body(batch: Batch) -> bytes:
    """Return the body of a batch. Raises: BatchRejected if JSON can't contain an operation."""
    failures: dict[int, RecipientFieldsError] = {}
    for index, operation in enumerate(batch.operations):
        try:
            _require_sendable(_input(operation))
        except InvalidField as error:
            failures[index] = error
    if failures:
        raise BatchRejected(failures)
    return _encode(render_batch(batch))


def export_body(content: Content, target: Target, options: ExportOptions) -> bytes:
    """Return the body of an export."""
    require_content(content)
    require_type(ExportOptions, options=options)
    members: dict[str, object] = {
        "content": content.source,
        **_target(target),
        "surface": options.surface and options.surface.value,
        "raw": options.raw,
        "strict": options.strict,
        "literals": list(options.literals),
        "sent_by": options.sent_by,
    }
    return _encode(_without_nulls(members))


def conversion_body(
    text: str, read: Target, write: Target | str, options: ConversionOptions
) -> bytes:
    """Return the body of a conversion."""
    require_type(str, text=text)
    require_type(ConversionOptions, options=options)
    members = {
        "content": text,
        "from": _target(read),
        "to": write if write == PORTABLE else _target(write),
        "names": dict(options.names),
        "values": dict(options.values),
        "surface": options.surface and options.surface.value,
        "exact": options.exact,
        "strict": options.strict,
        "sent_by": options.sent_by,
        "sent_by_source": options.sent_by_source,
        "bare": options.bare and options.bare.value,
    }
    return _encode(_without_nulls(members))


def preview_body(
    content: Content,
    values: Mapping[str, object],
    event: Mapping[str, object] | None,
    surface: Surface | str | None,
) -> bytes:
    """Return the body of a preview. Raises: InvalidRecipient if JSON can't contain the values."""
    require_content(content)
    require_type(Mapping, values=values)
    require_type(Mapping | None, event=event)
    recipient = {key: _text_of_date(value) for key, value in values.items()}
    violations = [v for key, value in recipient.items() for v in _not_json(value, (key,))]
    violations += [] if event is None else _not_json(event, ("event",))
    if violations:
        raise InvalidRecipient(violations)
    members = {
        "content": content.source,
        "recipient": recipient,
        "event": event,
        "surface": None if surface is None else Surface(surface).value,
    }
    return _encode(_without_nulls(members))


def compilation_body(
    condition: Condition, target: Target, then: str, otherwise: str, strict: Strict
) -> bytes:
    """Return the body of a compilation, with the condition in its JSON form."""
    require_condition(condition)
    require_type(str, then=then, otherwise=otherwise)
    require_strict(strict)
    return _encode(
        {
            "condition": render_condition_document(condition),
            **_target(target),
            "then": then,
            "else": otherwise,
            "strict": strict,
        }
    )


def condition_headers(precondition: Precondition) -> Mapping[str, str]:
    """Return `If-Match` and `If-None-Match`, if the precondition needs them."""
    headers = {}
    if precondition.match is not None:
        headers["If-Match"] = _tags(precondition.match) or '""'  # matches no version
    if precondition.none_match is not None and (tags := _tags(precondition.none_match)):
        headers["If-None-Match"] = tags
    return headers


def list_parameters(query: FieldQuery, cursor: str | None) -> str | None:
    """Return the query string of the page, or None if the API does not support the query.

    `cursor` replaces `after`. The service may still reject values that are too large.
    """
    alternatives = (query.sources, query.data_types, query.keys, query.integration_ids)
    if frozenset() in alternatives or (query.text and character_violation(query.text)):
        return None  # A filter without values would be omitted.
    values = {
        "source": _joined(source.value for source in query.sources or ()),
        "data_type": _joined(data_type.value for data_type in query.data_types or ()),
        "key": _joined(query.keys or ()),
        "integration_id": _joined(str(each) for each in query.integration_ids or ()),
        "insertable": None if query.insertable is None else str(query.insertable).lower(),
        "counterparts": None if query.counterparts else "false",
        "q": query.text,
        "sort": ("-" if query.descending else "") + query.sort.value,
        "limit": query.limit,
        "cursor": cursor,
    }
    return _query_string(values)


def history_parameters(query: HistoryQuery) -> str | None:
    """Return the query string of the page, or None if the API does not support the query."""
    alternatives = (query.keys, query.sources, query.operations)
    if query.descending or query.field_ids is not None or frozenset() in alternatives:
        return None
    values = {
        "key": _joined(query.keys or ()),
        "source": _joined(source.value for source in query.sources or ()),
        "operation": _joined(operation.value for operation in query.operations or ()),
        "after": None if query.after is None else max(query.after, 0),
        "limit": query.limit,
    }
    return _query_string(values)


def _without_nulls(members: Mapping[str, object]) -> dict[str, object]:
    return {name: value for name, value in members.items() if value is not None}


def _query_string(values: Mapping[str, object]) -> str | None:
    """Return the query string without the values that are None, or None if it is too long."""
    parameters = urlencode(_without_nulls(values))
    return parameters if len(parameters) <= _MAX_QUERY else None


def _joined(alternatives: Iterable[str]) -> str | None:
    return ",".join(sorted(alternatives)) or None


def _tags(versions: Versions) -> str:
    if versions is ANY_VERSION:
        return ANY_VERSION.value
    return ", ".join(f'"{tag}"' for tag in sorted(versions) if _TAG.fullmatch(tag))


def _target(target: Target) -> dict[str, object]:
    """Return the member that names the target.

    Raises: ValueError if a text can't be the name of an ESP.
    """
    require_type(Esp | str | int, target=target)
    if isinstance(target, Esp | str):
        return {"esp": str(Esp(target))}
    return {"integration_id": target}


def _text_of_date(value: object) -> object:
    """Return the text of a date or date-time, which JSON can't contain, and other values as is."""
    if isinstance(value, datetime):
        return format_instant(value)
    return value.isoformat() if isinstance(value, date) else value


def _input(operation: BatchOperation) -> FieldDraft | FieldChanges | None:
    match operation:
        case CreateField(draft):
            return draft
        case UpdateField(changes=changes) | ReplaceField(changes=changes):
            return changes
        case DeleteField():
            return None


def _require_sendable(values: FieldDraft | FieldChanges | None) -> None:
    """Check the rules that the service could not check in the JSON document.

    Raises: InvalidField if the values break one of these rules.
    """
    if values is None:
        return
    if isinstance(values, FieldDraft):
        values.define(by=API, at=system_clock())
        return
    document: Any = render_input(values)
    members = document["recipient_field"]
    violations = [v for name, value in members.items() for v in _not_json(value, (name,))]
    if violations:
        raise InvalidField(violations)


def _encode(document: object) -> bytes:
    try:
        return render_json(document)
    except UnicodeEncodeError:  # A lone surrogate, which the service reports as a violation.
        return json.dumps(document, allow_nan=False, separators=(",", ":")).encode("ascii")


def _not_json(value: object, path: tuple[str | int, ...]) -> list[Violation]:
    """Return a violation for each value that JSON can't contain."""
    match value:
        case None | bool() | str():
            return []
        case int() if abs(value) < 2**1023:
            return []
        case float() if math.isfinite(value):
            return []
        case int() | float():
            return [
                Violation(
                    Rule.OUT_OF_RANGE, "This must be a finite number that a double can hold.", path
                )
            ]
        case list() | tuple():
            return [v for i, each in enumerate(value) for v in _not_json(each, (*path, i))]
        case dict() if all(isinstance(name, str) for name in value):
            return [v for name, each in value.items() for v in _not_json(each, (*path, name))]
    return [Violation(Rule.TYPE, "This must be a value that JSON can contain.", path)]
