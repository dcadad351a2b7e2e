"""The requests of the comparison as an application of FastAPI.

It follows FastAPI's documentation: pydantic models, dependencies, `HTTPBearer` and a lifespan. The
pool is used as psycopg's documentation shows it for FastAPI.
"""

import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import datetime
from hashlib import sha256
from typing import Annotated, Any, Literal

from fastapi import Depends, FastAPI, HTTPException, status
from fastapi.security import HTTPAuthorizationCredentials, HTTPBearer
from psycopg import AsyncConnection
from psycopg.errors import UniqueViolation
from psycopg.rows import class_row
from psycopg.types.json import Json
from psycopg_pool import AsyncConnectionPool
from pydantic import BaseModel, ConfigDict, Field

DataType = Literal["text", "number", "boolean", "date", "datetime"]


class NewField(BaseModel):
    model_config = ConfigDict(extra="forbid")

    name: str = Field(min_length=1, max_length=255)
    key: str = Field(pattern="^[a-z][a-z0-9]*(_[a-z0-9]+)*$", max_length=63)
    data_type: DataType
    allowed_values: list[str | int | float] | None = Field(
        default=None, min_length=1, max_length=1_000
    )
    insertable: bool = True
    custom_insertion_code: str | None = Field(default=None, min_length=1, max_length=10_000)
    custom_value_expression: str | None = Field(default=None, min_length=1, max_length=2_000)


class NewFieldDocument(BaseModel):
    recipient_field: NewField


class RecipientField(BaseModel):
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


class FieldDocument(BaseModel):
    recipient_field: RecipientField


class FieldList(BaseModel):
    recipient_fields: list[RecipientField]


@dataclass
class ApiKey:
    organization_id: int
    access: str


COLUMNS = ", ".join(RecipientField.model_fields)
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

# Every statement is its own transaction: without autocommit, each request would need two more
# round trips.
pool = AsyncConnectionPool(os.environ["DATABASE_URL"], kwargs={"autocommit": True}, open=False)


@asynccontextmanager
async def lifespan(_: FastAPI) -> AsyncIterator[None]:
    async with pool:
        yield


app = FastAPI(lifespan=lifespan)


async def get_connection() -> AsyncIterator[AsyncConnection[Any]]:
    async with pool.connection() as connection:
        yield connection


Connection = Annotated[AsyncConnection[Any], Depends(get_connection)]


async def get_reader(
    connection: Connection,
    credentials: Annotated[HTTPAuthorizationCredentials, Depends(HTTPBearer())],
) -> ApiKey:
    digest = sha256(credentials.credentials.encode()).digest()
    async with connection.cursor(row_factory=class_row(ApiKey)) as cursor:
        await cursor.execute(FIND_KEY, [digest])
        key = await cursor.fetchone()
    if key is None:
        raise HTTPException(status.HTTP_401_UNAUTHORIZED, "unknown API key")
    return key


Reader = Annotated[ApiKey, Depends(get_reader)]


async def get_writer(key: Reader) -> ApiKey:
    if key.access != "read_write":
        raise HTTPException(status.HTTP_403_FORBIDDEN, "the API key is read-only")
    return key


Writer = Annotated[ApiKey, Depends(get_writer)]


@app.get("/api/v1/recipient_fields")
async def list_fields(connection: Connection, key: Reader) -> FieldList:
    async with connection.cursor(row_factory=class_row(RecipientField)) as cursor:
        await cursor.execute(LIST_FIELDS, [key.organization_id])
        return FieldList(recipient_fields=await cursor.fetchall())


@app.get("/api/v1/recipient_fields/{field_id}")
async def get_field(field_id: int, connection: Connection, key: Reader) -> FieldDocument:
    async with connection.cursor(row_factory=class_row(RecipientField)) as cursor:
        await cursor.execute(GET_FIELD, [key.organization_id, field_id])
        field = await cursor.fetchone()
    if field is None:
        raise HTTPException(status.HTTP_404_NOT_FOUND, "no such field")
    return FieldDocument(recipient_field=field)


@app.post("/api/v1/recipient_fields", status_code=status.HTTP_201_CREATED)
async def create_field(
    document: NewFieldDocument, connection: Connection, key: Writer
) -> FieldDocument:
    new = document.recipient_field
    values = new.model_dump() | {
        "organization_id": key.organization_id,
        "folded_name": new.name.casefold(),
        "allowed_values": None if new.allowed_values is None else Json(new.allowed_values),
    }
    async with connection.cursor(row_factory=class_row(RecipientField)) as cursor:
        try:
            await cursor.execute(ADD_FIELD, values)
        except UniqueViolation:
            raise HTTPException(status.HTTP_409_CONFLICT, "the key is taken") from None
        field = await cursor.fetchone()
    assert field is not None
    return FieldDocument(recipient_field=field)
