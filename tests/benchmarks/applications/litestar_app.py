"""The requests of the comparison as an application of Litestar.

It follows Litestar's documentation: msgspec models, dependencies, an authentication middleware and
a lifespan.
"""

import os
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import datetime
from hashlib import sha256
from typing import Annotated, Any, Literal

from litestar import Litestar, Request, get, post
from litestar.connection import ASGIConnection
from litestar.datastructures import State
from litestar.di import Provide
from litestar.exceptions import (
    ClientException,
    NotAuthorizedException,
    NotFoundException,
    PermissionDeniedException,
)
from litestar.handlers import BaseRouteHandler
from litestar.middleware import AbstractAuthenticationMiddleware, AuthenticationResult
from litestar.status_codes import HTTP_409_CONFLICT
from msgspec import Meta, Struct
from msgspec.structs import asdict
from psycopg import AsyncConnection
from psycopg.errors import UniqueViolation
from psycopg.rows import class_row
from psycopg.types.json import Json
from psycopg_pool import AsyncConnectionPool

DataType = Literal["text", "number", "boolean", "date", "datetime"]


class NewField(Struct, forbid_unknown_fields=True):
    name: Annotated[str, Meta(min_length=1, max_length=255)]
    key: Annotated[str, Meta(pattern="^[a-z][a-z0-9]*(_[a-z0-9]+)*$", max_length=63)]
    data_type: DataType
    allowed_values: (
        Annotated[list[str | int | float], Meta(min_length=1, max_length=1_000)] | None
    ) = None
    insertable: bool = True
    custom_insertion_code: Annotated[str, Meta(min_length=1, max_length=10_000)] | None = None
    custom_value_expression: Annotated[str, Meta(min_length=1, max_length=2_000)] | None = None


class NewFieldDocument(Struct):
    recipient_field: NewField


class RecipientField(Struct):
    id: int
    name: str
    key: str
    data_type: DataType
    allowed_values: list[str | int | float] | None
    insertable: bool
    source: Literal["api", "manual", "integration"]
    integration_id: int | None
    esp_field_name: str | None
    custom_insertion_code: str | None
    custom_value_expression: str | None
    created_at: datetime
    updated_at: datetime


class FieldDocument(Struct):
    recipient_field: RecipientField


class FieldList(Struct):
    recipient_fields: list[RecipientField]


@dataclass
class ApiKey:
    organization_id: int
    access: str


COLUMNS = ", ".join(RecipientField.__struct_fields__)
FIND_KEY = """
    SELECT organization_id, access FROM api_keys
    WHERE digest = %s AND revoked_at IS NULL AND (expires_at IS NULL OR expires_at > now())
"""
LIST_FIELDS = f"SELECT {COLUMNS} FROM recipient_fields WHERE organization_id = %s ORDER BY id"
GET_FIELD = f"SELECT {COLUMNS} FROM recipient_fields WHERE organization_id = %s AND id = %s"
ADD_FIELD = f"""
    INSERT INTO recipient_fields (
        organization_id, name, folded_name, key, data_type, allowed_values, insertable, source,
        custom_insertion_code, custom_value_expression, created_at, updated_at, version
    ) VALUES (
        %(organization_id)s, %(name)s, %(folded_name)s, %(key)s, %(data_type)s,
        %(allowed_values)s, %(insertable)s, 'api', %(custom_insertion_code)s,
        %(custom_value_expression)s, now(), now(), 1
    ) RETURNING {COLUMNS}
"""


@asynccontextmanager
async def lifespan(app: Litestar) -> AsyncGenerator[None, None]:
    # Every statement is its own transaction: without autocommit, each request would need two more
    # round trips.
    async with AsyncConnectionPool(
        os.environ["DATABASE_URL"], kwargs={"autocommit": True}, open=False
    ) as pool:
        app.state.pool = pool
        yield


class ApiKeyMiddleware(AbstractAuthenticationMiddleware):
    async def authenticate_request(
        self, connection: ASGIConnection[Any, Any, Any, Any]
    ) -> AuthenticationResult:
        scheme, _, key = connection.headers.get("Authorization", "").partition(" ")
        if scheme.lower() != "bearer":
            raise NotAuthorizedException("an API key is required")
        digest = sha256(key.encode()).digest()
        async with (
            connection.app.state.pool.connection() as database,
            database.cursor(row_factory=class_row(ApiKey)) as cursor,
        ):
            await cursor.execute(FIND_KEY, [digest])
            found = await cursor.fetchone()
        if found is None:
            raise NotAuthorizedException("unknown API key")
        return AuthenticationResult(user=found, auth=key)


def may_write(connection: ASGIConnection[Any, ApiKey, Any, Any], _: BaseRouteHandler) -> None:
    if connection.user.access != "read_write":
        raise PermissionDeniedException("the API key is read-only")


async def provide_connection(state: State) -> AsyncGenerator[AsyncConnection[Any], None]:
    async with state.pool.connection() as connection:
        yield connection


@get("/api/v1/recipient_fields")
async def list_fields(
    request: Request[ApiKey, str, State], connection: AsyncConnection[Any]
) -> FieldList:
    async with connection.cursor(row_factory=class_row(RecipientField)) as cursor:
        await cursor.execute(LIST_FIELDS, [request.user.organization_id])
        return FieldList(await cursor.fetchall())


@get("/api/v1/recipient_fields/{field_id:int}")
async def get_field(
    field_id: int, request: Request[ApiKey, str, State], connection: AsyncConnection[Any]
) -> FieldDocument:
    async with connection.cursor(row_factory=class_row(RecipientField)) as cursor:
        await cursor.execute(GET_FIELD, [request.user.organization_id, field_id])
        field = await cursor.fetchone()
    if field is None:
        raise NotFoundException("no such field")
    return FieldDocument(field)


@post("/api/v1/recipient_fields", guards=[may_write])
async def create_field(
    data: NewFieldDocument,
    request: Request[ApiKey, str, State],
    connection: AsyncConnection[Any],
) -> FieldDocument:
    new = data.recipient_field
    values = asdict(new) | {
        "organization_id": request.user.organization_id,
        "folded_name": new.name.casefold(),
        "allowed_values": None if new.allowed_values is None else Json(new.allowed_values),
    }
    async with connection.cursor(row_factory=class_row(RecipientField)) as cursor:
        try:
            await cursor.execute(ADD_FIELD, values)
        except UniqueViolation:
            raise ClientException("the key is taken", status_code=HTTP_409_CONFLICT) from None
        field = await cursor.fetchone()
    assert field is not None
    return FieldDocument(field)


app = Litestar(
    route_handlers=[list_fields, get_field, create_field],
    dependencies={"connection": Provide(provide_connection)},
    middleware=[ApiKeyMiddleware],
    lifespan=[lifespan],
)
