"""The successful responses of every kind of data."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from hashlib import sha256

import falcon
from attrs import Factory, frozen

from recipient_fields.domain import Credential

from .heavy_requests import HEAVY_SIZE, HeavyRequests
from .problems import entity_tag
from .request_context import precondition
from .resource import READS

_NO_HEADERS: Mapping[str, str] = {}


@frozen
class ReadResponse:
    """The response to a read. It is the same for all readers of this version."""

    version_tag: str
    body: bytes
    headers: Mapping[str, str] = Factory(dict)


def digest_response(body: bytes, headers: Mapping[str, str] = _NO_HEADERS) -> ReadResponse:
    """Return the response with a body that can change without a new revision of the catalog."""
    return ReadResponse(sha256(body).hexdigest()[:32], body, headers)


def in_slot(
    heavy: HeavyRequests, credential: Credential, create: Callable[[], ReadResponse]
) -> Callable[[], ReadResponse]:
    """Return the function that creates the response from the catalog, in a slot if it is large."""

    def create_in_slot() -> ReadResponse:
        with heavy.reading_catalog(credential) as request:
            response = create()
            request.require_slot_above(HEAVY_SIZE, [len(response.body)])
            return response

    return create_in_slot


def send(req: falcon.Request, resp: falcon.Response, response: ReadResponse) -> None:
    """Send 200 with the response, or 304 if the client already has this version."""
    resp.set_header("ETag", entity_tag(response.version_tag))
    resp.set_headers(response.headers)
    if req.method in READS and precondition(req).excludes(response.version_tag):
        resp.status = falcon.HTTP_304
        return
    resp.data = response.body
