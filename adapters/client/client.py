"""The use cases of recipient fields, with a service elsewhere."""

from __future__ import annotations

import re
from collections import OrderedDict
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from importlib.metadata import version
from ssl import SSLContext
from threading import Lock
from types import TracebackType
from typing import Self, TypeAlias
from urllib.parse import quote

from attrs import evolve

from recipient_fields.application import PublishedCatalog, RecipientFields, published, system_clock
from recipient_fields.application.identifiers import require_ids, require_reference
from recipient_fields.domain import (
    API,
    UNCONDITIONAL,
    Catalog,
    FieldChanges,
    FieldDraft,
    FieldKey,
    FieldNotFound,
    FieldPage,
    FieldQuery,
    FieldReference,
    FieldReplacement,
    KeyRefused,
    OrganizationId,
    OrganizationNotFound,
    Precondition,
    RecipientField,
    StorageUnavailable,
)

from .answers import catalog_of, field_of, page_of
from .connections import Answer, Connections, Request
from .json_values import NotAsAgreed
from .patience import Patience, answer
from .refusals import Asked, RequestRefused, refusal
from .requests import (
    changes_body,
    condition_headers,
    definition_body,
    list_parameters,
    replacement_body,
)

_FIELDS = "/api/v1/recipient_fields"
_BEARER = re.compile(r"[A-Za-z0-9._~+/-]+=*")
_MOST_CURSORS = 1_000

_A_FIELD = Asked(FieldNotFound)
_AN_ORGANIZATION = Asked(OrganizationNotFound)


class RecipientFieldsClient(RecipientFields):
    """What can be done with the fields of the organizations that there are keys for.

    `url` is where the service is, such as https://fields.example.com, with a path where it is
    mounted under one. `keys` are API keys by organization; they are looked up at every call, so
    that the mapping may change, and an organization without one does not exist. ValueError where
    the URL can't be used, or is http to another machine and `plaintext` is not said. `tls` replaces
    the system's trusted authorities. `kept` connections stay open between calls.

    Raises what the use cases raise in-process, and InsufficientAccess, KeyRefused,
    KeyValidationUnavailable and RequestRefused. No field tells its `version`: that is 0, while
    `version_tag` names the state as ever.
    """

    def __init__(
        self,
        url: str,
        *,
        keys: Mapping[OrganizationId, str],
        patience: Patience | None = None,
        tls: SSLContext | None = None,
        plaintext: bool = False,
        kept: int = 10,
    ) -> None:
        self._patience = patience or Patience()
        self._keys = keys
        self._cursors = _Cursors(_MOST_CURSORS)
        self._agent = f"recipient-fields-client/{version('recipient-fields')}"
        self._connections = Connections(
            url,
            tls=tls,
            plaintext=plaintext,
            kept=kept,
            connect_timeout=self._patience.connect_timeout,
            largest_answer=self._patience.largest_answer,
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
        """Give back every connection, for good. Closing twice is fine."""
        self._connections.close()

    def list_fields(self, organization_id: OrganizationId) -> Catalog:
        """See RecipientFields."""
        answered = self._ask(_AN_ORGANIZATION, organization_id, "GET", "")
        with _as_agreed():
            return catalog_of(answered, organization_id)

    def publish_fields(self, organization_id: OrganizationId) -> PublishedCatalog:
        """See RecipientFields."""
        return published(self.list_fields(organization_id))

    def find_fields(self, organization_id: OrganizationId, query: FieldQuery) -> FieldPage:
        """See RecipientFields.

        What HTTP has no words for is selected here, from all fields: an empty set of alternatives,
        a `limit` beyond 1,000, an `after` that no page of this client led to.
        """
        cursor = self._cursors.find(organization_id, query)
        parameters = list_parameters(query, cursor)
        if parameters is None or (query.after is not None and cursor is None):
            return query.select(self.list_fields(organization_id))
        try:
            answered = self._ask(_AN_ORGANIZATION, organization_id, "GET", f"?{parameters}")
        except RequestRefused:  # Too large a page, too long a text, a cursor of another release.
            return query.select(self.list_fields(organization_id))
        with _as_agreed():
            page, cursor = page_of(answered, organization_id, query)
        self._cursors.keep(query, page, cursor)
        return page

    def get_field(
        self, organization_id: OrganizationId, reference: FieldReference
    ) -> RecipientField:
        """See RecipientFields."""
        answered = self._ask(_A_FIELD, organization_id, "GET", _item(reference))
        with _as_agreed():
            return field_of(answered, organization_id)

    def create_field(self, organization_id: OrganizationId, draft: FieldDraft) -> RecipientField:
        """See RecipientFields."""
        definition = draft.define(by=API, at=system_clock())  # judges what the JSON doesn't show
        asked = Asked(OrganizationNotFound, draft.key)
        answered = self._ask(asked, organization_id, "POST", "", definition_body(definition))
        with _as_agreed():
            return field_of(answered, organization_id)

    def update_field(
        self,
        organization_id: OrganizationId,
        reference: FieldReference,
        changes: FieldChanges,
        precondition: Precondition = UNCONDITIONAL,
    ) -> RecipientField:
        """See RecipientFields.

        What is wrong in the form of the changes is InvalidField before all other errors.
        """
        body = changes_body(changes)
        answered = self._ask(
            _A_FIELD, organization_id, "PATCH", _item(reference), body, precondition
        )
        with _as_agreed():
            return field_of(answered, organization_id)

    def replace_or_create_field(
        self,
        organization_id: OrganizationId,
        key: FieldKey,
        replacement: FieldReplacement,
        precondition: Precondition = UNCONDITIONAL,
    ) -> tuple[RecipientField, bool]:
        """See RecipientFields."""
        body = replacement_body(replacement)
        asked = Asked(OrganizationNotFound, key)
        answered = self._ask(asked, organization_id, "PUT", _item(key), body, precondition)
        with _as_agreed():
            return field_of(answered, organization_id), answered.status == 201

    def delete_field(
        self,
        organization_id: OrganizationId,
        reference: FieldReference,
        precondition: Precondition = UNCONDITIONAL,
    ) -> None:
        """See RecipientFields."""
        self._ask(_A_FIELD, organization_id, "DELETE", _item(reference), None, precondition)

    def _ask(
        self,
        asked: Asked,
        organization_id: OrganizationId,
        method: str,
        target: str,
        body: bytes | None = None,
        precondition: Precondition = UNCONDITIONAL,
    ) -> Answer:
        """The answer, which is one of success; else the error that it tells of."""
        require_ids(organization_id=organization_id)
        key = self._keys.get(organization_id)
        if key is None:
            raise asked.absent
        if _BEARER.fullmatch(key) is None:
            raise KeyRefused
        headers = {
            "Authorization": f"Bearer {key}",
            "Accept": "application/json",
            "User-Agent": self._agent,
            **condition_headers(precondition),
        }
        if body is not None:
            headers["Content-Type"] = "application/json"
        request = Request(method=method, target=_FIELDS + target, headers=headers, body=body)
        answered = answer(self._connections, request, self._patience)
        if answered.status not in _SUCCESSES[method]:
            raise refusal(answered, asked)
        return answered


_SUCCESSES: Mapping[str, set[int]] = {
    "GET": {200},
    "POST": {201},
    "PATCH": {200},
    "PUT": {200, 201},
    "DELETE": {204},
}


def _item(reference: FieldReference) -> str:
    require_reference(reference)
    return f"/{quote(str(reference), safe='')}"


@contextmanager
def _as_agreed() -> Iterator[None]:
    """StorageUnavailable where the block finds an answer that is not as the contract has it."""
    try:
        yield
    except NotAsAgreed as otherwise:
        raise StorageUnavailable(
            f"The service does not answer as its contract says: {otherwise}."
        ) from None


_Place: TypeAlias = tuple[OrganizationId, FieldQuery]


class _Cursors:
    """The cursors that the service's pages ended with, as many as are worth remembering."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._cursors: OrderedDict[_Place, str] = OrderedDict()
        self._lock = Lock()

    def find(self, organization_id: OrganizationId, query: FieldQuery) -> str | None:
        """The cursor that leads to where the query begins; None where it is not known."""
        with self._lock:
            return self._cursors.get(_place(organization_id, query))

    def keep(self, query: FieldQuery, page: FieldPage, cursor: str | None) -> None:
        """Remember how the service goes on behind the page."""
        if cursor is None:
            return
        with self._lock:
            place = _place(page.organization_id, evolve(query, after=page.next))
            self._cursors[place] = cursor
            self._cursors.move_to_end(place)
            if len(self._cursors) > self._most:
                self._cursors.popitem(last=False)


def _place(organization_id: OrganizationId, query: FieldQuery) -> _Place:
    """Cursors are good for pages of any size."""
    return organization_id, evolve(query, limit=None)
