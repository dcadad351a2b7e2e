"""A Flask application whose users manage recipient fields: `flask --app flask_app run`."""

from __future__ import annotations

from attrs import frozen
from flask import Flask, abort, request
from werkzeug.middleware.dispatcher import DispatcherMiddleware

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
    RecipientFieldsError,
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


class Users:
    """A placeholder for the application's users and authentication."""

    def __init__(self) -> None:
        self._by_token: dict[str, User] = {}

    def add(self, token: str, user: User) -> None:
        """Let the user authenticate with this token."""
        self._by_token[token] = user

    def find(self, token: str | None) -> User | None:
        """Return the user with this token, or None."""
        return self._by_token.get(token or "")


@frozen
class UserValidator:
    """A KeyValidator that accepts the tokens of the application's users."""

    users: Users

    def validate(self, presented: str, /) -> Credential | Rejection:
        """Return the organization and the access of the token's user."""
        user = self.users.find(presented)
        if user is None:
            return Rejection(RejectionReason.UNKNOWN)
        access = Access.READ_WRITE if user.is_editor else Access.READ_ONLY
        return Credential(user.organization_id, f"user-{user.id}", access)


STATUSES: dict[type[RecipientFieldsError], int] = {
    FieldNotFound: 404,
    CatalogTooLarge: 409,
    FieldLimitReached: 409,
    InvalidField: 422,
    KeyTaken: 409,
    OperationForbidden: 403,
}


def create_app() -> Flask:
    """Create the application, with the library's API at /fields and a view that calls the core."""
    users = Users()
    # Use SqliteStorage("fields.db") for a file.
    core = Core.over(MemoryStorage(), validator=UserValidator(users))
    bakery = core.administration.create_organization("Bakery").id
    users.add("token-of-ada", User(1, bakery, is_editor=True))
    users.add("token-of-bob", User(2, bakery, is_editor=False))
    app = Flask(__name__)
    fields_api = create_fields_api(core)
    app.wsgi_app = DispatcherMiddleware(app.wsgi_app, {"/fields": fields_api})  # type: ignore[method-assign]

    def current_user() -> User:
        token = request.authorization.token if request.authorization else None
        return users.find(token) or abort(401)

    def current_editor() -> User:
        user = current_user()
        return user if user.is_editor else abort(403)

    @app.get("/merge-tags")
    def list_merge_tags() -> dict[str, str]:
        fields = core.fields.list_fields(current_user().organization_id).fields
        return {field.key: field.name for field in fields if field.insertable}

    @app.post("/survey-questions")
    def ask_in_survey() -> tuple[dict[str, object], int]:
        draft = FieldDraft(name=request.form["question"], data_type=DataType.TEXT)
        field = core.fields.create_field(current_editor().organization_id, draft)
        return dict(render_field(field)), 201

    def refuse(error: RecipientFieldsError) -> tuple[dict[str, str], int]:
        return {"message": str(error)}, STATUSES[type(error)]

    for kind in STATUSES:
        app.register_error_handler(kind, refuse)

    @app.errorhandler(StorageUnavailable)
    def fail(_error: StorageUnavailable) -> tuple[dict[str, str], int]:
        return {"message": "Try again shortly."}, 503

    return app
