"""The resources. Each method reads the request, calls the use case and sends the response."""

from __future__ import annotations

from collections.abc import Callable, Collection
from datetime import datetime
from functools import partial
from typing import ClassVar

import falcon
from attrs import frozen

from recipient_fields.application import RecipientFieldService
from recipient_fields.application.batch_documents import parse_batch, render_batch_results
from recipient_fields.application.documents import parse_changes, parse_draft, parse_replacement
from recipient_fields.application.references import is_key, parse_id, parse_reference
from recipient_fields.application.strict_json import render_json
from recipient_fields.domain import FieldKey

from .bodies import read_json
from .heavy_requests import HEAVY_SIZE, HeavyRequests, field_sizes
from .history_pages import read_page
from .history_parameters import HISTORY_NAMES, HISTORY_REPEATABLE, parse_history_query
from .list_parameters import NAMES, REPEATABLE, parse_as_of, parse_query
from .request_context import author, credential, parameters, precondition
from .resource import Resource
from .response_cache import ResponseCache
from .responses import (
    ReadResponse,
    catalog_response,
    field_response,
    history_response,
    in_slot,
    page_response,
    send,
    send_created,
)


@frozen
class FieldCollection(Resource):
    """`/api/v1/recipient_fields`."""

    parameters: ClassVar[Collection[str]] = NAMES
    repeatable: ClassVar[Collection[str]] = REPEATABLE

    service: RecipientFieldService
    cache: ResponseCache
    heavy: HeavyRequests

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
        create = in_slot(self.heavy, credential(req), find)
        send(req, resp, self.cache.get_or_create(credential(req), req.relative_uri, create))

    on_head = on_get

    def _find_as_of(self, req: falcon.Request, as_of: datetime) -> ReadResponse:
        """Return the list as it was. The history can be pruned, so the cache would be stale."""
        organization_id = credential(req).organization_id
        query = parse_query(parameters(req), organization_id)
        with self.heavy.reading_catalog(credential(req)) as request:
            page = query.select(self.service.list_fields_as_of(organization_id, as_of))
            # The catalog could be larger then than it is now.
            request.require_slot_above(HEAVY_SIZE, field_sizes(page.fields))
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
    heavy: HeavyRequests

    def on_post(self, req: falcon.Request, resp: falcon.Response) -> None:
        """Perform several operations, all or none. Without a slot for the response: none."""
        batch = parse_batch(read_json(req, self))
        organization_id = credential(req).organization_id
        with self.heavy.request(organization_id) as request:
            results = self.service.by(author(req)).apply_batch(
                organization_id,
                batch,
                accept=lambda results: request.require_slot_above(HEAVY_SIZE, field_sizes(results)),
            )
            resp.data = render_json(render_batch_results(results))


@frozen
class History(Resource):
    """`/api/v1/recipient_field_changes`."""

    parameters: ClassVar[Collection[str]] = HISTORY_NAMES
    repeatable: ClassVar[Collection[str]] = HISTORY_REPEATABLE

    service: RecipientFieldService
    heavy: HeavyRequests

    def on_get(self, req: falcon.Request, resp: falcon.Response) -> None:
        """List the changes of all fields of the organization."""
        query = parse_history_query(parameters(req))
        organization_id = credential(req).organization_id
        read = partial(self.service.list_changes, organization_id)
        with self.heavy.reading_unknown_size(organization_id) as request:
            response = history_response(req, read_page(read, query, request))
        send(req, resp, response)

    on_head = on_get


@frozen
class FieldHistory(Resource):
    """`/api/v1/recipient_fields/{id_or_key}/changes`."""

    parameters: ClassVar[Collection[str]] = [name for name in HISTORY_NAMES if name != "key"]
    repeatable: ClassVar[Collection[str]] = HISTORY_REPEATABLE

    service: RecipientFieldService
    heavy: HeavyRequests

    def on_get(self, req: falcon.Request, resp: falcon.Response, id_or_key: str) -> None:
        """List the changes of the field with this id, or of all fields with this key."""
        query = parse_history_query(parameters(req))
        organization_id, reference = credential(req).organization_id, parse_reference(id_or_key)
        read = partial(self.service.list_field_changes, organization_id, reference)
        with self.heavy.reading_unknown_size(organization_id) as request:
            response = history_response(req, read_page(read, query, request))
        send(req, resp, response)

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
