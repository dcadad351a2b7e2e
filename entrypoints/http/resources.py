"""The endpoints: read the request, call the use case, render the answer."""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import ClassVar

import falcon
from attrs import frozen

from recipient_fields.application import RecipientFieldService
from recipient_fields.domain import FieldKey

from ..references import is_key, parse_reference
from ..rendering import to_json
from .bodies import read_json
from .documents import parse_changes, parse_draft, parse_replacement
from .list_parameters import MULTIPLE, NAMES, parse_query
from .request_guard import credential, parameters, precondition
from .resource import Resource
from .response_cache import KeptAnswers
from .responses import Answer, catalog_answer, field_answer, give, give_created, page_answer


@frozen
class FieldCollection(Resource):
    """`/api/v1/recipient_fields`."""

    parameters: ClassVar[Collection[str]] = NAMES
    multiple: ClassVar[Collection[str]] = MULTIPLE

    service: RecipientFieldService
    kept: KeptAnswers

    def on_get(self, req: falcon.Request, resp: falcon.Response) -> None:
        """The organization's fields: all, ordered by id, or those that the parameters ask for."""

        def find() -> Answer:
            if not parameters(req):
                return catalog_answer(self.service.publish_fields(organization_id))
            query = parse_query(parameters(req), organization_id)
            return page_answer(req, query, self.service.find_fields(organization_id, query))

        organization_id = credential(req).organization_id
        give(req, resp, self.kept.answer(credential(req), req.relative_uri, find))

    on_head = on_get

    def on_post(self, req: falcon.Request, resp: falcon.Response) -> None:
        """Make a field."""
        draft = parse_draft(read_json(req))
        field = self.service.create_field(credential(req).organization_id, draft)
        give_created(req, resp, field)


@frozen
class FieldItem(Resource):
    """`/api/v1/recipient_fields/{reference}`."""

    service: RecipientFieldService
    kept: KeptAnswers

    def on_get(self, req: falcon.Request, resp: falcon.Response, reference: str) -> None:
        """One field."""

        def get() -> Answer:
            organization_id = credential(req).organization_id
            return field_answer(self.service.get_field(organization_id, parse_reference(reference)))

        give(req, resp, self.kept.answer(credential(req), req.relative_uri, get))

    on_head = on_get

    def on_patch(self, req: falcon.Request, resp: falcon.Response, reference: str) -> None:
        """Change the members that are sent."""
        changes = parse_changes(read_json(req))
        field = self.service.update_field(
            credential(req).organization_id,
            parse_reference(reference),
            changes,
            precondition(req),
        )
        give(req, resp, field_answer(field))

    def on_put(self, req: falcon.Request, resp: falcon.Response, reference: str) -> None:
        """Replace every writable member; by key, make the field where there is none."""
        organization_id = credential(req).organization_id
        if not is_key(reference):
            replacement = parse_replacement(read_json(req), None)
            field = self.service.update_field(
                organization_id,
                parse_reference(reference),
                replacement.changes(),
                precondition(req),
            )
            give(req, resp, field_answer(field))
            return
        replacement = parse_replacement(read_json(req), reference)
        field, created = self.service.replace_or_create_field(
            organization_id, FieldKey(reference), replacement, precondition(req)
        )
        if created:
            give_created(req, resp, field)
        else:
            give(req, resp, field_answer(field))

    def on_delete(self, req: falcon.Request, resp: falcon.Response, reference: str) -> None:
        """Remove the field."""
        self.service.delete_field(
            credential(req).organization_id, parse_reference(reference), precondition(req)
        )
        resp.status = falcon.HTTP_204


class Liveness(Resource):
    """`/healthz`: the process is up. Asks nothing of the storage."""

    def on_get(self, _req: falcon.Request, resp: falcon.Response) -> None:
        """200 whenever it can be asked."""
        resp.data = to_json({"status": "ok"})

    on_head = on_get


@frozen
class Readiness(Resource):
    """`/readyz`: the storage answers in time and its schema is current."""

    check: Callable[[], None]

    def on_get(self, _req: falcon.Request, resp: falcon.Response) -> None:
        """200, or 503 `service_unavailable`."""
        self.check()
        resp.data = to_json({"status": "ready"})

    on_head = on_get
