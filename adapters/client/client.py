"""The Python client: an implementation of RecipientFields over HTTP."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from datetime import datetime
from functools import cached_property
from importlib.metadata import version
from ssl import SSLContext
from types import TracebackType
from typing import Literal, Self
from urllib.parse import quote, urlencode

from attrs import evolve

from recipient_fields.application import (
    FieldCodeDocument,
    PublishedCatalog,
    RecipientFields,
    Target,
    published,
    system_clock,
)
from recipient_fields.domain import (
    API,
    MAX_HISTORY_PAGE,
    UNCONDITIONAL,
    Batch,
    Catalog,
    FieldChanges,
    FieldDraft,
    FieldId,
    FieldIdentity,
    FieldNotFound,
    FieldPage,
    FieldQuery,
    FieldReference,
    HistoryPage,
    HistoryQuery,
    HistoryRecord,
    KeyRefused,
    OrganizationId,
    OrganizationNotFound,
    Precondition,
    RecipientField,
    format_instant,
    view_of,
)
from recipient_fields.domain.arguments import require_ids, require_reference
from recipient_fields.domain.conditions import Condition
from recipient_fields.domain.content import (
    DEFAULT_STRICT,
    Content,
    PreviewedContent,
    Strict,
    Surface,
)
from recipient_fields.domain.esp import (
    PORTABLE,
    CheckedContent,
    ConditionCode,
    Esp,
    ExportedContent,
    ExportOptions,
    check_content,
)
from recipient_fields.domain.integrations import (
    Conversion,
    ConversionOptions,
    EspNames,
    Integration,
    without_counterparts,
)

from ..network import Connections, Request, Response
from .errors import NotFound, RequestRefused, error_of
from .requests import (
    RetryPolicy,
    batch_body,
    call,
    compilation_body,
    condition_headers,
    conversion_body,
    export_body,
    history_parameters,
    input_body,
    list_parameters,
    parse_base_url,
    preview_body,
)
from .responses import (
    Cursors,
    catalog_of,
    codes_of,
    compiled_of,
    conversion_of,
    exported_of,
    field_of,
    history_of,
    identities_of,
    integrations_of,
    is_minimal,
    organization_of,
    page_of,
    preview_of,
    results_of,
)

_FIELDS = "/api/v1/recipient_fields"
_BATCHES = "/api/v1/recipient_field_batches"
_HISTORY = "/api/v1/recipient_field_changes"
_INTEGRATIONS = "/api/v1/integrations"
_CONVERSIONS = "/api/v1/content_conversions"
_EXPORTS = "/api/v1/content_exports"
_PREVIEWS = "/api/v1/content_previews"
_COMPILATIONS = "/api/v1/condition_compilations"
_STORING_NOTHING = {_CONVERSIONS, _EXPORTS, _PREVIEWS, _COMPILATIONS}
"""The paths to which a request can be sent again, although it is a POST."""
_BEARER = re.compile(r"[A-Za-z0-9._~+/-]+=*")
_MAX_CURSORS = 1_000
_NO_HEADERS: Mapping[str, str] = {}


class RecipientFieldsClient(RecipientFields):
    """A client of a remote service.

    `url` is the base URL of the service, such as https://fields.example.com. It includes the path
    below which the service is mounted. `api_key` is the API key of one organization, whose id is
    `organization_id`. A client of several organizations has `keys` instead: an API key for each.
    The client looks up the key for each call, so the mapping can change. It raises the same error
    for an organization without a key as for one that does not exist. `tls` replaces the certificate
    authorities that the system trusts. `plaintext` permits http to other hosts. The client keeps up
    to `pool_size` connections open.

    The methods for content and conditions are those of ContentService. In addition to the errors of
    RecipientFields and ContentService, every method can raise RequestRefused. Fields have the
    `version` 0, because responses do not contain it; `version_tag` is the same as in-process.

    Raises: ValueError if the URL can't be used; TypeError unless there is either an API key or
    `keys`.
    """

    def __init__(
        self,
        url: str,
        api_key: str | None = None,
        *,
        keys: Mapping[OrganizationId, str] | None = None,
        retry_policy: RetryPolicy | None = None,
        tls: SSLContext | None = None,
        plaintext: bool = False,
        pool_size: int = 10,
    ) -> None:
        if (api_key is None) is (keys is None):
            raise TypeError("Pass either `api_key` or `keys`.")
        self._retry_policy = retry_policy or RetryPolicy()
        self._api_key = api_key
        self._keys = {} if keys is None else keys
        self._cursors = Cursors(_MAX_CURSORS)
        self._user_agent = f"recipient-fields-client/{version('recipient-fields')}"
        base = parse_base_url(url, plaintext=plaintext)
        self._path = (base.path or "").rstrip("/")
        self._connections = Connections(
            base,
            size=pool_size,
            connect_timeout=self._retry_policy.connect_timeout,
            max_response=self._retry_policy.max_response,
            tls=tls,
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close all connections. Later calls fail; closing again does nothing."""
        self._connections.close()

    @cached_property
    def organization_id(self) -> OrganizationId:
        """The organization to which the API key belongs. The client requests it once.

        Raises: OrganizationNotFound if there is no API at the URL, or if the organization does not
        exist; KeyRefused if the service rejects the key; KeyValidationUnavailable if the service
        can't validate keys; StorageUnavailable if the service does not respond as documented;
        TypeError if the client has the keys of several organizations.
        """
        if self._api_key is None:
            raise TypeError("This client has `keys`: pass the id of one of their organizations.")
        response = self._call(None, "GET", f"{_FIELDS}?limit=1")
        return organization_of(response)

    def list_integrations(self, organization_id: OrganizationId) -> tuple[Integration, ...]:
        """Return the integrations of the organization by ascending id.

        Raises: OrganizationNotFound if the organization does not exist, or if the service is too
        old to list integrations.
        """
        response = self._call(organization_id, "GET", _INTEGRATIONS)
        return integrations_of(response, organization_id)

    def list_codes(
        self, organization_id: OrganizationId, reference: FieldReference
    ) -> tuple[FieldCodeDocument, ...]:
        """Return the name and the codes of the field at each integration, and then at each ESP.

        Raises: FieldNotFound if the organization has no such field.
        """
        response = self._call(
            organization_id, "GET", f"{_item(reference)}/codes", not_found=FieldNotFound
        )
        return codes_of(response)

    def check_content(
        self,
        organization_id: OrganizationId,
        content: Content,
        *,
        strict: Strict = DEFAULT_STRICT,
        literals: Collection[str] = (),
    ) -> CheckedContent:
        """Check the content without an ESP, as ContentService does.

        The client reads the fields and the integrations, and checks the content itself.
        """
        fields = self.list_fields(organization_id).fields
        integrations = self.list_integrations(organization_id)
        explain_key = EspNames(fields, integrations).explain_key
        return check_content(
            content, fields, explain_key=explain_key, strict=strict, literals=literals
        )

    def export_content(
        self,
        organization_id: OrganizationId,
        content: Content,
        target: Target,
        options: ExportOptions = ExportOptions(),  # noqa: B008 (it is immutable)
    ) -> ExportedContent:
        """Export the content, as ContentService does. `resolved` is empty."""
        body = export_body(content, target, options)
        response = self._call(organization_id, "POST", _EXPORTS, body)
        return exported_of(response)

    def convert_content(
        self,
        organization_id: OrganizationId,
        text: str,
        read: Target,
        write: Target | Literal["portable"] = PORTABLE,
        options: ConversionOptions | None = None,
    ) -> Conversion:
        """Convert a template, as ContentService does.

        `tags` are those that have reasons, and the `values` of fields are empty.
        """
        body = conversion_body(text, read, write, options or ConversionOptions())
        response = self._call(organization_id, "POST", _CONVERSIONS, body)
        return conversion_of(response)

    def preview_content(
        self,
        organization_id: OrganizationId,
        content: Content,
        values: Mapping[str, object],
        *,
        event: Mapping[str, object] | None = None,
        surface: Surface | str | None = None,
    ) -> PreviewedContent:
        """Return the content for a recipient with these values, as ContentService does."""
        body = preview_body(content, values, event, surface)
        response = self._call(organization_id, "POST", _PREVIEWS, body)
        return preview_of(response)

    def compile_condition(
        self,
        organization_id: OrganizationId,
        condition: Condition,
        target: Target,
        *,
        then: str,
        otherwise: str = "",
        strict: Strict = DEFAULT_STRICT,
    ) -> tuple[Esp, ConditionCode]:
        """Compile the condition, as ContentService does. Warnings have no places."""
        body = compilation_body(condition, target, then, otherwise, strict)
        response = self._call(organization_id, "POST", _COMPILATIONS, body)
        return compiled_of(response)

    def list_fields(self, organization_id: OrganizationId) -> Catalog:
        response = self._call(organization_id, "GET", _FIELDS)
        return catalog_of(response, organization_id)

    def publish_fields(self, organization_id: OrganizationId) -> PublishedCatalog:
        return published(self.list_fields(organization_id))

    def find_fields(self, organization_id: OrganizationId, query: FieldQuery) -> FieldPage:
        """Return a page of the fields that match the query.

        If the API does not support the query, the client reads the whole list and applies the query
        itself. Examples are an empty set of alternatives, a `limit` above 1,000, or an `after` that
        is not the `next` of a page that this client has returned.
        """
        cursor = self._cursors.find(organization_id, query)
        parameters = list_parameters(query, cursor)
        if parameters is None or (query.after is not None and cursor is None):
            return self._select(organization_id, query)
        try:
            target = f"{_FIELDS}?{parameters}"
            response = self._call(organization_id, "GET", target)
        except RequestRefused:
            # The limit or a text is too large, or the service does not know a parameter or the
            # cursor.
            return self._select(organization_id, query)
        page, cursor = page_of(response, organization_id, query)
        self._cursors.add(query, page, cursor)
        return page

    def _select(self, organization_id: OrganizationId, query: FieldQuery) -> FieldPage:
        """Return what the query selects in the whole list."""
        catalog = self.list_fields(organization_id)
        if not query.counterparts:
            integrations = self.list_integrations(organization_id)
            catalog = without_counterparts(catalog, integrations)
        return query.select(catalog)

    def get_field(
        self, organization_id: OrganizationId, reference: FieldReference
    ) -> RecipientField:
        response = self._call(organization_id, "GET", _item(reference), not_found=FieldNotFound)
        return field_of(response, organization_id)

    def create_field(self, organization_id: OrganizationId, draft: FieldDraft) -> RecipientField:
        body = input_body(draft)
        response = self._call(organization_id, "POST", _FIELDS, body)
        return field_of(response, organization_id)

    def update_field(
        self,
        organization_id: OrganizationId,
        reference: FieldReference,
        changes: FieldChanges,
        precondition: Precondition = UNCONDITIONAL,
    ) -> RecipientField:
        """Change a field. The service reports InvalidField before other errors."""
        body = input_body(changes)
        response = self._call(
            organization_id,
            "PATCH",
            _item(reference),
            body,
            precondition,
            not_found=FieldNotFound,
        )
        return field_of(response, organization_id)

    def replace_or_create_field(
        self,
        organization_id: OrganizationId,
        draft: FieldDraft,
        precondition: Precondition = UNCONDITIONAL,
    ) -> tuple[RecipientField, bool]:
        body = input_body(draft.changes())
        response = self._call(organization_id, "PUT", _item(draft.key), body, precondition)
        return field_of(response, organization_id), response.status == 201

    def delete_field(
        self,
        organization_id: OrganizationId,
        reference: FieldReference,
        precondition: Precondition = UNCONDITIONAL,
    ) -> None:
        self._call(
            organization_id, "DELETE", _item(reference), None, precondition, not_found=FieldNotFound
        )

    def apply_batch(
        self, organization_id: OrganizationId, batch: Batch
    ) -> tuple[RecipientField | None, ...]:
        """Perform all operations of a batch, or none. Return the field of each, None if deleted.

        The `current` version of a VersionConflict is None, because responses do not contain it. If
        the fields are too large for the response, the client then reads the list. Later changes of
        other clients can be in it.

        Raises: RequestRefused if the batch has more than 1,000 operations, if it is larger than
        1 MiB as JSON, or if the service does not support batches.
        """
        response = self._apply(organization_id, batch, {})
        if response is None:
            return ()
        if not is_minimal(response):
            return results_of(response, organization_id, batch)
        identities = identities_of(response, batch)
        fields = {field.id: field for field in self.list_fields(organization_id).fields}
        return tuple(None if each is None else fields.get(each.id) for each in identities)

    def apply_batch_minimally(
        self, organization_id: OrganizationId, batch: Batch
    ) -> tuple[FieldIdentity | None, ...]:
        """Perform a batch as `apply_batch` does. Return only the id and the key of each field.

        A service that does not know the preference sends the fields.
        """
        response = self._apply(organization_id, batch, {"Prefer": "return=minimal"})
        if response is None:
            return ()
        if is_minimal(response):
            return identities_of(response, batch)
        fields = results_of(response, organization_id, batch)
        return tuple(None if each is None else FieldIdentity(each.id, each.key) for each in fields)

    def _apply(
        self, organization_id: OrganizationId, batch: Batch, headers: Mapping[str, str]
    ) -> Response | None:
        """Return the response to a batch, or None if the batch has no operations."""
        for operation in batch.operations:
            require_reference(operation.reference)
        if not batch.operations:  # The API requires at least one.
            catalog = self.list_fields(organization_id)
            batch.stage(view_of(catalog), by=API, at=system_clock())
            return None
        body = batch_body(batch)
        try:
            return self._call(organization_id, "POST", _BATCHES, body, batch=batch, headers=headers)
        except OrganizationNotFound:
            # An older service also responds with 404, because it does not have the path. In that
            # case, the organization exists, and the list can be read.
            self.list_fields(organization_id)
            message = "The service does not support batches of changes. Update the service."
            raise RequestRefused("not_found", message) from None

    def restore_field(self, organization_id: OrganizationId, field_id: FieldId) -> RecipientField:
        require_ids(field_id=field_id)
        target = f"{_item(field_id)}/restore"
        response = self._call(organization_id, "POST", target, not_found=FieldNotFound)
        return field_of(response, organization_id)

    def list_changes(self, organization_id: OrganizationId, query: HistoryQuery) -> HistoryPage:
        """Return a page of the history.

        If the API does not support the query, the client reads the whole history and applies the
        query itself. Examples are a descending order and a filter by ids.
        """
        return self._list_changes(OrganizationNotFound, organization_id, _HISTORY, query)

    def list_field_changes(
        self, organization_id: OrganizationId, reference: FieldReference, query: HistoryQuery
    ) -> HistoryPage:
        """Return a page of the history of the field, as `list_changes` does."""
        target = f"{_item(reference)}/changes"
        if isinstance(reference, str):
            query = evolve(query, keys=None)
        else:
            query = evolve(query, field_ids=None)
        if query.keys is not None:  # The API has no such filter for one field.
            return query.select(self._all_changes(FieldNotFound, organization_id, target))
        return self._list_changes(FieldNotFound, organization_id, target, query)

    def list_fields_as_of(self, organization_id: OrganizationId, at: datetime) -> Catalog:
        target = f"{_FIELDS}?{urlencode({'as_of': format_instant(at)})}"
        response = self._call(organization_id, "GET", target)
        return catalog_of(response, organization_id)

    def _list_changes(
        self, not_found: NotFound, organization_id: OrganizationId, target: str, query: HistoryQuery
    ) -> HistoryPage:
        parameters = history_parameters(query)
        if parameters is None:
            return query.select(self._all_changes(not_found, organization_id, target))
        response = self._call(organization_id, "GET", f"{target}?{parameters}", not_found=not_found)
        return history_of(response, organization_id)

    def _all_changes(
        self, not_found: NotFound, organization_id: OrganizationId, target: str
    ) -> Iterator[HistoryRecord]:
        query = HistoryQuery(limit=MAX_HISTORY_PAGE)
        while True:
            page = self._list_changes(not_found, organization_id, target, query)
            yield from page.records
            if page.next is None:
                return
            query = evolve(query, after=page.next)

    def _find_key(self, organization_id: OrganizationId) -> str | None:
        require_ids(organization_id=organization_id)
        if self._api_key is None:
            return self._keys.get(organization_id)
        return self._api_key if organization_id == self.organization_id else None

    def _call(
        self,
        organization_id: OrganizationId | None,
        method: str,
        target: str,
        body: bytes | None = None,
        precondition: Precondition = UNCONDITIONAL,
        batch: Batch | None = None,
        headers: Mapping[str, str] = _NO_HEADERS,
        not_found: NotFound = OrganizationNotFound,
    ) -> Response:
        """Return the response if it is successful. Raises: the error for any other response.

        None is the organization of the API key.
        """
        key = self._api_key if organization_id is None else self._find_key(organization_id)
        if key is None:
            raise not_found
        if _BEARER.fullmatch(key) is None:
            raise KeyRefused
        sent = {
            "Authorization": f"Bearer {key}",
            "Accept": "application/json",
            "User-Agent": self._user_agent,
            **condition_headers(precondition),
            **headers,
        }
        if body is not None:
            sent["Content-Type"] = "application/json"
        request = Request(
            method=method,
            target=self._path + target,
            headers=sent,
            body=body,
            max_error=self._retry_policy.max_response,
        )
        stores = method != "GET" and target not in _STORING_NOTHING
        response = call(self._connections, request, self._retry_policy, stores=stores)
        if response.status not in _SUCCESSES[method]:
            raise error_of(response, not_found, batch)
        return response


_SUCCESSES: Mapping[str, set[int]] = {
    "GET": {200},
    "POST": {200, 201},
    "PATCH": {200},
    "PUT": {200, 201},
    "DELETE": {204},
}


def _item(reference: FieldReference) -> str:
    require_reference(reference)
    return f"{_FIELDS}/{quote(str(reference), safe='')}"
