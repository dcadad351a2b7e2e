"""The resources. Each method reads the request, calls the use case and sends the response."""

from __future__ import annotations

from collections.abc import Callable, Collection
from datetime import datetime
from typing import ClassVar

import falcon
from attrs import frozen

from recipient_fields.application import RecipientFieldService
from recipient_fields.application.batch_documents import parse_batch
from recipient_fields.application.documents import parse_changes, parse_draft, parse_replacement
from recipient_fields.application.references import is_key, parse_id, parse_reference
from recipient_fields.application.strict_json import render_json
from recipient_fields.domain import FieldKey

from .bodies import read_json
from .history_parameters import HISTORY_NAMES, HISTORY_REPEATABLE, parse_history_query
from .list_parameters import NAMES, REPEATABLE, parse_as_of, parse_query
from .request_context import author, credential, parameters, precondition
from .resource import Resource
from .response_cache import ResponseCache
from .responses import (
    MAX_BATCH_RESPONSE,
    ReadResponse,
    catalog_response,
    field_response,
    history_response,
    page_response,
    send,
    send_created,
    send_results,
)


@frozen
class FieldCollection(Resource):
    """`/api/v1/recipient_fields`."""

    parameters: ClassVar[Collection[str]] = NAMES
    repeatable: ClassVar[Collection[str]] = REPEATABLE

    service: RecipientFieldService
    cache: ResponseCache

    def on_get(self, req: falcon.Request, resp: falcon.Response) -> None:
        """List the fields of the organization: all, ordered by id, or those that match a query."""

        def find() -> ReadResponse:
            if not parameters(req):
                return catalog_response(self.service.publish_fields(organization_id))
            query = parse_query(parameters(req), organization_id)
            return page_response(req, query, self.service.find_fields(organization_id, query))

        organization_id = credential(req).organization_id
        as_of = parse_as_of(parameters(req))
        if as_of is not None:
            send(req, resp, self._find_as_of(req, as_of))
            return
        send(req, resp, self.cache.get_or_create(credential(req), req.relative_uri, find))

    on_head = on_get

    def _find_as_of(self, req: falcon.Request, as_of: datetime) -> ReadResponse:
        """Return the list as it was. The history can be pruned, so the cache would be stale."""
        organization_id = credential(req).organization_id
        query = parse_query(parameters(req), organization_id)
        page = self.service.find_fields_as_of(organization_id, as_of, query)
        return page_response(req, query, page)

    def on_post(self, req: falcon.Request, resp: falcon.Response) -> None:
        """Create a field."""
        draft = parse_draft(read_json(req, self))
        field = self.service.by(author(req)).create_field(credential(req).organization_id, draft)
        send_created(req, resp, field)


@frozen
class FieldItem(Resource):
    """`/api/v1/recipient_fields/{id_or_key}`."""

    service: RecipientFieldService
    cache: ResponseCache

    def on_get(self, req: falcon.Request, resp: falcon.Response, id_or_key: str) -> None:
        """Send one field."""

        def get() -> ReadResponse:
            organization_id = credential(req).organization_id
            return field_response(
                self.service.get_field(organization_id, parse_reference(id_or_key))
            )

        send(req, resp, self.cache.get_or_create(credential(req), req.relative_uri, get))

    on_head = on_get

    def on_patch(self, req: falcon.Request, resp: falcon.Response, id_or_key: str) -> None:
        """Change the members that the body contains."""
        changes = parse_changes(read_json(req, self))
        field = self.service.by(author(req)).update_field(
            credential(req).organization_id,
            parse_reference(id_or_key),
            changes,
            precondition(req),
        )
        send(req, resp, field_response(field))

    def on_put(self, req: falcon.Request, resp: falcon.Response, id_or_key: str) -> None:
        """Replace all writable members. With a key, create the field if it does not exist."""
        organization_id = credential(req).organization_id
        if not is_key(id_or_key):
            replacement = parse_replacement(read_json(req, self), None)
            field = self.service.by(author(req)).update_field(
                organization_id,
                parse_reference(id_or_key),
                replacement.changes(),
                precondition(req),
            )
            send(req, resp, field_response(field))
            return
        replacement = parse_replacement(read_json(req, self), id_or_key)
        field, created = self.service.by(author(req)).replace_or_create_field(
            organization_id, FieldKey(id_or_key), replacement, precondition(req)
        )
        if created:
            send_created(req, resp, field)
        else:
            send(req, resp, field_response(field))

    def on_delete(self, req: falcon.Request, resp: falcon.Response, id_or_key: str) -> None:
        """Delete the field."""
        self.service.by(author(req)).delete_field(
            credential(req).organization_id, parse_reference(id_or_key), precondition(req)
        )
        resp.status = falcon.HTTP_204


@frozen
class FieldRestoration(Resource):
    """`/api/v1/recipient_fields/{id_or_key}/restore`."""

    has_body: ClassVar[bool] = False

    service: RecipientFieldService

    def on_post(self, req: falcon.Request, resp: falcon.Response, id_or_key: str) -> None:
        """Restore a deleted field by its id: several deleted fields can have the same key."""
        field_id = parse_id(id_or_key)
        field = self.service.by(author(req)).restore_field(
            credential(req).organization_id, field_id
        )
        send(req, resp, field_response(field))


@frozen
class BatchCollection(Resource):
    """`/api/v1/recipient_field_batches`."""

    max_body_values: ClassVar[int] = 100_000

    service: RecipientFieldService
    max_response: int = MAX_BATCH_RESPONSE
    """The size in bytes above which a response contains no fields."""

    def on_post(self, req: falcon.Request, resp: falcon.Response) -> None:
        """Perform several operations, all or none."""
        batch = parse_batch(read_json(req, self))
        results = self.service.by(author(req)).apply_batch(credential(req).organization_id, batch)
        send_results(req, resp, results, max_bytes=self.max_response)


@frozen
class History(Resource):
    """`/api/v1/recipient_field_changes`."""

    parameters: ClassVar[Collection[str]] = HISTORY_NAMES
    repeatable: ClassVar[Collection[str]] = HISTORY_REPEATABLE

    service: RecipientFieldService

    def on_get(self, req: falcon.Request, resp: falcon.Response) -> None:
        """List the changes of all fields of the organization."""
        query = parse_history_query(parameters(req))
        page = self.service.list_changes(credential(req).organization_id, query)
        send(req, resp, history_response(req, page))

    on_head = on_get


@frozen
class FieldHistory(Resource):
    """`/api/v1/recipient_fields/{id_or_key}/changes`."""

    parameters: ClassVar[Collection[str]] = [name for name in HISTORY_NAMES if name != "key"]
    repeatable: ClassVar[Collection[str]] = HISTORY_REPEATABLE

    service: RecipientFieldService

    def on_get(self, req: falcon.Request, resp: falcon.Response, id_or_key: str) -> None:
        """List the changes of the field with this id, or of all fields with this key."""
        query = parse_history_query(parameters(req))
        page = self.service.list_field_changes(
            credential(req).organization_id, parse_reference(id_or_key), query
        )
        send(req, resp, history_response(req, page))

    on_head = on_get


class Liveness(Resource):
    """`/healthz`: the process runs. The storage is not checked."""

    def on_get(self, _req: falcon.Request, resp: falcon.Response) -> None:
        """Send 200."""
        resp.data = render_json({"status": "ok"})

    on_head = on_get


@frozen
class Readiness(Resource):
    """`/readyz`: the storage responds in time, and its schema is current."""

    check: Callable[[], None]

    def on_get(self, _req: falcon.Request, resp: falcon.Response) -> None:
        """Send 200, or 503 `service_unavailable`."""
        self.check()
        resp.data = render_json({"status": "ready"})

    on_head = on_get
