"""A FastAPI application whose users manage recipient fields: `fastapi run fastapi_app.py`."""

from typing import Annotated

from a2wsgi import WSGIMiddleware
from attrs import frozen
from fastapi import Depends, FastAPI, HTTPException, Request
from fastapi.responses import JSONResponse
from fastapi.security import HTTPAuthorizationCredentials, HTTPBearer
from pydantic import BaseModel

from recipient_fields import (
    Access,
    CatalogTooLarge,
    Core,
    Credential,
    DataType,
    FieldDraft,
    FieldLimitReached,
    FieldNotFound,
    InvalidField,
    KeyTaken,
    MemoryStorage,
    OperationForbidden,
    OrganizationId,
    Rejection,
    RejectionReason,
    StorageUnavailable,
    render_field,
)
from recipient_fields.entrypoints.http import create_app as create_fields_api


@frozen
class User:
    """A user of the application. Each customer is an organization of the library."""

    id: int
    organization_id: OrganizationId
    is_editor: bool


USERS: dict[str, User] = {}
"""A placeholder for the application's users and authentication, by token."""


class UserValidator:
    """A KeyValidator that accepts the tokens of the application's users."""

    def validate(self, presented: str, /) -> Credential | Rejection:
        """Return the organization and the access of the token's user."""
        user = USERS.get(presented)
        if user is None:
            return Rejection(RejectionReason.UNKNOWN)
        access = Access.READ_WRITE if user.is_editor else Access.READ_ONLY
        return Credential(user.organization_id, f"user-{user.id}", access)


# Use SqliteStorage("fields.db") for a file.
core = Core.over(MemoryStorage(), validator=UserValidator())
bakery = core.administration.create_organization("Bakery").id
USERS["token-of-ada"] = User(1, bakery, is_editor=True)
USERS["token-of-bob"] = User(2, bakery, is_editor=False)
app = FastAPI(title="Surveys")


def current_user(
    bearer: Annotated[HTTPAuthorizationCredentials, Depends(HTTPBearer())],
) -> User:
    """Return the authenticated user."""
    user = USERS.get(bearer.credentials)
    if user is None:
        raise HTTPException(401, "Log in first.", {"WWW-Authenticate": "Bearer"})
    return user


def current_editor(user: Annotated[User, Depends(current_user)]) -> User:
    """Return the authenticated user if it can write."""
    if not user.is_editor:
        raise HTTPException(403, "Ask an editor.")
    return user


class Question(BaseModel):
    """A question. A recipient field stores the answers."""

    text: str
    answer: DataType = DataType.TEXT


# FastAPI runs routes without `async` in threads, because storages block.
@app.get("/merge-tags")
def list_merge_tags(user: Annotated[User, Depends(current_user)]) -> dict[str, str]:
    """Return the fields that content can contain, by key."""
    fields = core.fields.list_fields(user.organization_id).fields
    return {field.key: field.name for field in fields if field.insertable}


@app.post("/survey-questions", status_code=201)
def ask_in_survey(
    question: Question, user: Annotated[User, Depends(current_editor)]
) -> dict[str, object]:
    """Create the field for the answers."""
    draft = FieldDraft(name=question.text, data_type=question.answer)
    return dict(render_field(core.fields.create_field(user.organization_id, draft)))


STATUSES: dict[type[Exception], int] = {
    FieldNotFound: 404,
    CatalogTooLarge: 409,
    FieldLimitReached: 409,
    InvalidField: 422,
    KeyTaken: 409,
    OperationForbidden: 403,
}


def refuse(_request: Request, error: Exception) -> JSONResponse:
    """Convert an error of the library to a response."""
    return JSONResponse({"detail": str(error)}, STATUSES[type(error)])


for kind in STATUSES:
    app.add_exception_handler(kind, refuse)


@app.exception_handler(StorageUnavailable)
def fail(_request: Request, _error: StorageUnavailable) -> JSONResponse:
    """Respond if the storage is unavailable."""
    return JSONResponse({"detail": "Try again shortly."}, 503)


app.mount("/fields", WSGIMiddleware(create_fields_api(core)))  # type: ignore[arg-type]
