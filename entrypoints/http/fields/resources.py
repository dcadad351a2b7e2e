"""The resources of fields. Each method reads the request, calls a use case and sends its result."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime
from functools import partial
from http import HTTPStatus
from typing import ClassVar

import falcon
from attrs import frozen
from falcon import Request, Response

from recipient_fields.application import PublishedCatalog, RecipientFieldService
from recipient_fields.application.documents.schemas import Schema
from recipient_fields.application.documents.strict_json import render_json
from recipient_fields.application.documents.value_schemas import ID_PATTERN, KEY_PATTERN
from recipient_fields.application.fields.batch_documents import (
    BatchResultListDocument,
    MinimalBatchResultListDocument,
    RecipientFieldBatchDocument,
    parse_batch,
    render_batch_results,
    render_minimal_results,
)
from recipient_fields.application.fields.documents import (
    CHANGE_REQUEST,
    CREATION_REQUEST,
    REPLACEMENT_REQUEST,
    FieldEnvelopeDocument,
    FieldListDocument,
    render_field,
    render_fields,
)
from recipient_fields.application.fields.inputs import (
    parse_changes,
    parse_envelope,
    parse_new_field,
    parse_replacement,
)
from recipient_fields.application.fields.texts import is_id, is_key, parse_reference
from recipient_fields.domain import (
    MAX_KEY_LENGTH,
    BeforeHistory,
    CatalogChanged,
    CatalogTooLarge,
    FieldId,
    FieldLimitReached,
    FieldNotFound,
    FieldPage,
    FieldQuery,
    HistoryRemoved,
    KeyTaken,
    RecipientField,
)

from ..heavy_requests import HEAVY_SIZE, HeavyRequests, field_sizes
from ..problems import RequestRejected
from ..requests import (
    MINIMAL,
    author,
    credential,
    mount_path,
    parameters,
    precondition,
    prefers_minimal,
    read_json,
)
from ..resource import (
    ID_PARAMETER,
    JSON,
    MERGE_PATCH,
    Body,
    PathParameter,
    Resource,
    Result,
    Tag,
    operation,
)
from ..responses import ReadResponse, ResponseCache, reads_files, send
from .examples import (
    BIRTHDAY,
    FIRST_NAME,
    NEWSLETTER,
    RENAMED,
    RENAMED_TIER,
    SHOE_SIZE,
    SHOP,
    TIER,
    example_body,
    example_field,
)
from .list_parameters import LIST_PARAMETERS, next_page, parse_as_of, parse_query

_RESTORED_BY_ID = (
    "A deleted field is restored by its id, because several can have the same key. Find the id"
    " with `GET /api/v1/recipient_field_changes?operation=deleted&key=KEY`. If the list is empty,"
    " no field with this key was deleted."
)
_NO_DELETED_FIELD = (
    "No deleted field has this id. Find the id with"
    " `GET /api/v1/recipient_field_changes?operation=deleted`."
)
FIELDS_TAG = Tag("Recipient fields", "The fields of the organization that the API key belongs to.")

ID_OR_KEY = PathParameter(
    name="id_or_key",
    description="Digits are an id. Anything else is a key.",
    schema={
        "type": "string",
        "maxLength": MAX_KEY_LENGTH,
        "pattern": f"^(?:{ID_PATTERN[1:-1]}|{KEY_PATTERN[1:-1]})$",
    },
    examples={"id": "1", "key": "loyalty_tier"},
)
_DELETED_ID = PathParameter(
    name="id",
    description="The id of the deleted field.",
    schema=ID_PARAMETER,
    examples={"id": 1},
)


def _links(pointer: str) -> Schema:
    """Return the operations on the field at this pointer of a response, by id and by key."""
    return {
        f"{operation}_by_{part}": {
            "operationId": f"{operation}_recipient_field",
            "parameters": {"id_or_key": f"$response.body#{pointer}/{part}"},
        }
        for operation in ("get", "update", "replace", "delete")
        for part in ("id", "key")
    }


def _one_field(description: str, status: HTTPStatus = HTTPStatus.OK, **examples: object) -> Result:
    return Result(
        description=description,
        document=FieldEnvelopeDocument,
        status=status,
        headers=("ETag",),
        examples=examples,
        links=_links("/recipient_field"),
    )


@frozen
class FieldCollection(Resource):
    """`/api/v1/recipient_fields`."""

    parameters = LIST_PARAMETERS

    service: RecipientFieldService
    cache: ResponseCache
    heavy: HeavyRequests

    @operation(
        "list_recipient_fields",
        FIELDS_TAG,
        Result(
            description="The fields, ordered by id by default.",
            document=FieldListDocument,
            headers=("Total-Count", "Link"),
            examples={
                "every_origin": {
                    "recipient_fields": [
                        each["recipient_field"] for each in (TIER, SHOP, FIRST_NAME)
                    ]
                }
            },
            links=_links("/recipient_fields/0"),
        ),
        is_conditional=True,
        errors=(BeforeHistory,),
    )
    def on_get(self, req: Request, resp: Response) -> None:
        """List the fields.

        All fields of the organization, of any origin, or those that match the parameters. `Link`
        contains the next page. With `as_of`, the list as it was.
        """

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
        self.cache.send(req, resp, find, self.heavy)

    def _find_as_of(self, req: Request, as_of: datetime) -> ReadResponse:
        """Return the list as it was. The history can be pruned, so the cache would be stale."""
        organization_id = credential(req).organization_id
        query = parse_query(parameters(req), organization_id)
        with self.heavy.reading_catalog(credential(req)) as request:
            page = self.service.find_fields_as_of(organization_id, as_of, query)
            # The catalog could be larger then than it is now.
            request.require_slot_above(HEAVY_SIZE, field_sizes(page.fields))
            return page_response(req, query, page)

    @operation(
        "create_recipient_field",
        FIELDS_TAG,
        _one_field(
            "The new field.",
            HTTPStatus.CREATED,
            shoe_size=example_field(**SHOE_SIZE, key="shoe_size"),
            date_of_birth=example_field(**BIRTHDAY),
        ),
        body=Body(
            document=CREATION_REQUEST,
            examples={
                "shoe_size": example_body(**SHOE_SIZE),
                "date_of_birth": example_body(**BIRTHDAY),
            },
        ),
        errors=(KeyTaken, FieldLimitReached, CatalogTooLarge),
    )
    def on_post(self, req: Request, resp: Response) -> None:
        """Create a field.

        Without a `key`, the service derives one from the name. It adds no suffix: if the key is
        taken, the response is 409, so a repeated request creates no second field.
        """
        draft = parse_envelope(read_json(req, self), parse_new_field)
        field = self.service.by(author(req)).create_field(credential(req).organization_id, draft)
        send_created(req, resp, field)


@frozen
class FieldItem(Resource):
    """`/api/v1/recipient_fields/{id_or_key}`."""

    path_parameters: ClassVar[Mapping[str, PathParameter]] = {"id_or_key": ID_OR_KEY}

    service: RecipientFieldService
    cache: ResponseCache

    @operation(
        "get_recipient_field", FIELDS_TAG, _one_field("The field.", tier=TIER), is_conditional=True
    )
    def on_get(self, req: Request, resp: Response, id_or_key: str) -> None:
        """Read a field."""

        def get() -> ReadResponse:
            organization_id = credential(req).organization_id
            return field_response(
                self.service.get_field(organization_id, parse_reference(id_or_key))
            )

        self.cache.send(req, resp, get)

    @operation(
        "update_recipient_field",
        FIELDS_TAG,
        _one_field(
            "The changed field.",
            rename=RENAMED_TIER,
            any_value=example_field(id=1, name="Loyalty tier", key="loyalty_tier"),
        ),
        body=Body(
            document=CHANGE_REQUEST,
            media_types=(JSON, MERGE_PATCH),
            examples={
                "rename": example_body(**RENAMED),
                "any_value": example_body(allowed_values=None),
            },
        ),
        errors=(CatalogTooLarge,),
        is_conditional=True,
    )
    def on_patch(self, req: Request, resp: Response, id_or_key: str) -> None:
        """Change a field.

        Members that the body omits stay the same. null clears a nullable member (JSON merge patch,
        inside `recipient_field`). If nothing changes, the version stays the same, too.
        """
        changes = parse_envelope(read_json(req, self), parse_changes)
        field = self.service.by(author(req)).update_field(
            credential(req).organization_id,
            parse_reference(id_or_key),
            changes,
            precondition(req),
        )
        send(req, resp, field_response(field))

    @operation(
        "replace_recipient_field",
        FIELDS_TAG,
        _one_field("The replaced field."),
        _one_field(
            "The new field: no field had this key.",
            HTTPStatus.CREATED,
            newsletter=example_field(**NEWSLETTER, key="newsletter"),
        ),
        body=Body(
            document=REPLACEMENT_REQUEST,
            examples={"newsletter": example_body(**NEWSLETTER)},
        ),
        is_conditional=True,
        errors=(KeyTaken, FieldLimitReached, CatalogTooLarge),
    )
    def on_put(self, req: Request, resp: Response, id_or_key: str) -> None:
        """Replace a field, or create it by key.

        All writable members are replaced. Members that the body omits get their defaults. If no
        field has the key, the field is created, so the request can be repeated safely. With
        `If-None-Match: *`, it only creates. For an unknown id, the response is 404.
        """
        key = id_or_key if is_key(id_or_key) else None
        body = read_json(req, self)
        is_alone = isinstance(body, dict) and len(body) == 1
        parse = partial(parse_replacement, key=key, is_alone=is_alone)
        changes = parse_envelope(body, parse, path_key=key)
        field, created = self.service.by(author(req)).replace_field(
            credential(req).organization_id,
            parse_reference(id_or_key),
            changes,
            precondition(req),
        )
        if created:
            send_created(req, resp, field)
        else:
            send(req, resp, field_response(field))

    @operation(
        "delete_recipient_field",
        FIELDS_TAG,
        Result(
            description=(
                "The field is deleted. Its key can be used again at once. Its id is never used"
                " again."
            ),
            status=HTTPStatus.NO_CONTENT,
        ),
        is_conditional=True,
    )
    def on_delete(self, req: Request, resp: Response, id_or_key: str) -> None:
        """Delete a field."""
        self.service.by(author(req)).delete_field(
            credential(req).organization_id, parse_reference(id_or_key), precondition(req)
        )
        resp.status = falcon.HTTP_204


@frozen
class FieldRestoration(Resource):
    """`/api/v1/recipient_fields/{id_or_key}/restore`."""

    path_parameters: ClassVar[Mapping[str, PathParameter]] = {"id_or_key": _DELETED_ID}

    service: RecipientFieldService

    @operation(
        "restore_recipient_field",
        FIELDS_TAG,
        _one_field("The restored field, with its id and a new version.", tier=TIER),
        errors=(KeyTaken, FieldLimitReached, CatalogTooLarge, HistoryRemoved),
    )
    def on_post(self, req: Request, resp: Response, id_or_key: str) -> None:
        """Restore a deleted field.

        The field gets back its id, its key and its other members, except `updated_at`. If a field
        has its key, or if it is not deleted, the response is 409, and also if the record of its
        deletion can have been removed (`history_removed`). The request needs no body: the service
        ignores it.
        """
        if not is_id(id_or_key):
            raise RequestRejected("not_found", _RESTORED_BY_ID)
        restoring = self.service.by(author(req))
        try:
            field = restoring.restore_field(
                credential(req).organization_id, FieldId(int(id_or_key))
            )
        except FieldNotFound:
            raise RequestRejected("not_found", _NO_DELETED_FIELD) from None
        send(req, resp, field_response(field))


@frozen
class BatchCollection(Resource):
    """`/api/v1/recipient_field_batches`."""

    max_body_values: ClassVar[int] = 100_000

    service: RecipientFieldService
    heavy: HeavyRequests

    @operation(
        "apply_recipient_field_batch",
        FIELDS_TAG,
        Result(
            description="The field of each operation after the batch, in order, or its id and key.",
            document=BatchResultListDocument | MinimalBatchResultListDocument,
            headers=("Preference-Applied",),
            examples={
                "create_and_update": {
                    "results": [example_field(**SHOE_SIZE, key="shoe_size"), RENAMED_TIER]
                }
            },
        ),
        body=Body(
            document=RecipientFieldBatchDocument,
            examples={
                "create_and_update": {
                    "operations": [
                        {"operation": "create", **example_body(**SHOE_SIZE)},
                        {
                            "operation": "update",
                            "reference": "loyalty_tier",
                            **example_body(**RENAMED),
                        },
                    ]
                }
            },
        ),
        headers=("Prefer",),
        errors=(FieldNotFound, KeyTaken, FieldLimitReached, CatalogTooLarge, CatalogChanged),
    )
    def on_post(self, req: Request, resp: Response) -> None:
        """Apply several operations, all or none.

        If an operation fails, none takes effect: the response has the status of the first failed
        operation, and `details` contains all failures, with pointers below `/operations/N`. With
        `if_revision`, the request can be repeated safely: if the first one took effect, the second
        one gets 412. If the fields would have more bytes than a list may have, 8 MiB by default,
        the response contains only their ids and keys, as with `Prefer: return=minimal`.
        """
        # Otherwise, a batch that was stored could be rejected because its response has no slot.
        max_bytes = self.service.size_limit if reads_files(req) else HEAVY_SIZE

        def require_slot(results: Iterable[RecipientField | None]) -> None:
            if not is_minimal:
                request.require_slot_above(HEAVY_SIZE, field_sizes(results))

        batch, is_minimal = parse_batch(read_json(req, self)), prefers_minimal(req)
        organization_id = credential(req).organization_id
        with self.heavy.request(organization_id) as request:
            results = self.service.by(author(req)).apply_batch(
                organization_id, batch, accept=require_slot
            )
            send_results(resp, results, is_minimal=is_minimal, max_bytes=max_bytes)


def field_response(field: RecipientField) -> ReadResponse:
    """Return the response with this field."""
    return ReadResponse(field.version_tag, render_json({"recipient_field": render_field(field)}))


def catalog_response(catalog: PublishedCatalog) -> ReadResponse:
    """Return the response with all fields of the organization."""
    body = f'{{"recipient_fields":{catalog.documents}}}'.encode()
    return ReadResponse(catalog.version_tag, body, {"Total-Count": str(catalog.total)})


def page_response(req: Request, query: FieldQuery, page: FieldPage) -> ReadResponse:
    """Return the response with one page of fields, the total, and the link to the next page."""
    headers = {
        "Total-Count": str(page.total),
        **link_to_next(req, next_page(parameters(req), query, page)),
    }
    return ReadResponse(page.version_tag, render_json(render_fields(page.fields)), headers)


def send_created(req: Request, resp: Response, field: RecipientField) -> None:
    """Send 201 with the field and its location."""
    send(req, resp, field_response(field))
    resp.status = falcon.HTTP_201
    resp.set_header("Location", f"{mount_path(req)}/api/v1/recipient_fields/{field.id}")


def send_results(
    resp: Response,
    results: tuple[RecipientField | None, ...],
    *,
    is_minimal: bool,
    max_bytes: int,
) -> None:
    """Send the fields of a batch, or only their ids and keys if the response is minimal.

    It is also minimal if the fields would have more than `max_bytes`.
    """
    body = None if is_minimal else render_batch_results(results, max_bytes)
    if body is None:
        body = render_json(render_minimal_results(results))
        resp.set_header("Preference-Applied", MINIMAL)
    resp.data = body


def link_to_next(req: Request, next_query: str | None) -> Mapping[str, str]:
    """Return the header with the link to the next page, if there is one."""
    if next_query is None:
        return {}
    return {"Link": f'<{mount_path(req)}{req.path}?{next_query}>; rel="next"'}
