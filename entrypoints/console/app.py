"""The console as a WSGI application."""

from __future__ import annotations

from typing import Protocol

import falcon
from falcon import Request, Response
from falcon.routing import BaseConverter

from recipient_fields.application import Core
from recipient_fields.application.fields.texts import is_id

from . import ROOT
from .accounts.administrators import (
    AdministratorInvitation,
    AdministratorList,
    AdministratorRevocation,
    InvitationRenewal,
    InvitationWithdrawal,
    PasswordReset,
    RoleChange,
)
from .accounts.api_keys import ApiKeyCreation, ApiKeyList, ApiKeyRevocation, ApiKeyRotation
from .accounts.session_guard import SessionGuard
from .accounts.sign_in import (
    AllSessionsEnd,
    ClientAddress,
    Home,
    InvitationPage,
    LinkPage,
    Organizations,
    SessionEnd,
    SessionList,
    SignIn,
    SignOut,
)
from .content import BUSY, ContentPreview, ContentView
from .error_pages import ErrorPages
from .esp.connections import IntegrationConnection
from .esp.fields import IntegrationNames, RemovedFields
from .esp.integrations import (
    IntegrationCreation,
    IntegrationDeletion,
    IntegrationList,
    IntegrationMatching,
    IntegrationRenaming,
    IntegrationSync,
    IntegrationView,
    OpenFieldSource,
)
from .fields.fields import FieldDeletion, FieldList, FieldView
from .fields.forms import FieldCreation, FieldEditing
from .fields.history import FieldHistory, FieldRestoration, HistoryList
from .forms import OneAtATime
from .pages import Page, Pages, StaticFile, StaticFiles
from .recipients import OpenRecipients, RecipientListCheck
from .requests import Cookies


class ResponseHooks(Protocol):
    """A Falcon middleware that observes every response, for the log and the metrics."""

    def process_request(self, req: Request, resp: Response, /) -> None:
        """Observe that a request begins."""

    def process_response(
        self,
        req: Request,
        resp: Response,
        resource: object,
        succeeded: bool,  # noqa: FBT001 (Falcon's signature)
        /,
    ) -> None:
        """Observe the response."""


def create_console(
    core: Core,
    *,
    origin: str | None,
    client_address: ClientAddress,
    open_source: OpenFieldSource,
    open_recipients: OpenRecipients,
    issues_keys: bool = True,
    hooks: ResponseHooks | None = None,
) -> falcon.App[Request, Response]:
    """Return the console, which handles the paths that begin with `/console`.

    `origin` is the public origin, such as `https://fields.example.com`. None means the address of
    each request. `client_address` returns the IP address of the client. `open_source`
    returns the source of an ESP's fields, and `open_recipients` a reader of an uploaded list.
    `issues_keys` is whether the service accepts the API keys in the storage. `hooks` observes every
    response.
    """
    cookies = Cookies(is_secure=(origin or "").startswith("https:"))
    files = StaticFiles.read()
    pages = Pages(files, cookies, origin)
    guard = SessionGuard(core, cookies, origin)
    app = falcon.App(middleware=[guard] if hooks is None else [hooks, guard])
    app.req_options.strip_url_path_trailing_slash = True
    app.router_options.converters["id"] = _IdConverter
    ErrorPages(pages).add_to(app)

    organization = f"{ROOT}/o/{{organization_id:id}}"
    fields = f"{organization}/fields"
    keys = f"{organization}/settings/api-keys"
    integrations = f"{organization}/settings/integrations"
    administrators = f"{organization}/settings/administrators"
    sessions = f"{organization}/settings/sessions"
    long_exports = OneAtATime(BUSY)
    routes: dict[str, Page | StaticFile] = {
        ROOT: Home(core, pages),
        f"{ROOT}/static/{{name}}": StaticFile(files),
        f"{ROOT}/sign-in": SignIn(core, pages, client_address),
        f"{ROOT}/sign-out": SignOut(core, pages),
        f"{ROOT}/links/{{token}}": LinkPage(core, pages, client_address),
        f"{ROOT}/invitations/{{token}}": InvitationPage(core, pages, client_address),
        f"{ROOT}/organizations": Organizations(core, pages),
        fields: FieldList(core, pages),
        f"{fields}/new": FieldCreation(core, pages),
        f"{fields}/check": RecipientListCheck(core, pages, open_recipients),
        f"{fields}/{{field_id:id}}": FieldView(core, pages),
        f"{fields}/{{field_id:id}}/edit": FieldEditing(core, pages),
        f"{fields}/{{field_id:id}}/delete": FieldDeletion(core, pages),
        f"{fields}/{{field_id:id}}/history": FieldHistory(core, pages),
        f"{fields}/{{field_id:id}}/restore": FieldRestoration(core, pages),
        f"{organization}/content": ContentView(core, pages, long_exports),
        f"{organization}/content/preview": ContentPreview(core, pages, long_exports),
        f"{organization}/history": HistoryList(core, pages),
        keys: ApiKeyList(core, pages, issues_keys),
        f"{keys}/{{key_id:id}}/revoke": ApiKeyRevocation(core, pages, issues_keys),
        integrations: IntegrationList(core, pages, open_source),
        f"{integrations}/new": IntegrationCreation(core, pages),
        f"{integrations}/{{integration_id:id}}": IntegrationView(core, pages, open_source),
        f"{integrations}/{{integration_id:id}}/edit": IntegrationRenaming(core, pages),
        f"{integrations}/{{integration_id:id}}/connect": IntegrationConnection(core, pages),
        f"{integrations}/{{integration_id:id}}/sync": IntegrationSync(core, pages, open_source),
        f"{integrations}/{{integration_id:id}}/delete": IntegrationDeletion(core, pages),
        f"{integrations}/{{integration_id:id}}/match": IntegrationMatching(
            core, pages, open_source
        ),
        f"{integrations}/{{integration_id:id}}/names": IntegrationNames(core, pages),
        f"{integrations}/{{integration_id:id}}/removed": RemovedFields(core, pages),
        administrators: AdministratorList(core, pages),
        f"{administrators}/new": AdministratorInvitation(core, pages),
        f"{administrators}/{{administrator_id:id}}/role": RoleChange(core, pages),
        f"{administrators}/{{administrator_id:id}}/reset": PasswordReset(core, pages),
        f"{administrators}/{{administrator_id:id}}/revoke": AdministratorRevocation(core, pages),
        f"{administrators}/invitations/{{invitation_id:id}}/link": InvitationRenewal(core, pages),
        f"{administrators}/invitations/{{invitation_id:id}}/withdraw": InvitationWithdrawal(
            core, pages
        ),
        sessions: SessionList(core, pages),
        f"{sessions}/end-all": AllSessionsEnd(core, pages),
        f"{sessions}/{{session_id:id}}/end": SessionEnd(core, pages),
    }
    if issues_keys:
        routes[f"{keys}/new"] = ApiKeyCreation(core, pages)
        routes[f"{keys}/{{key_id:id}}/rotate"] = ApiKeyRotation(core, pages)
    for path, resource in routes.items():
        app.add_route(path, resource)
    return app


class _IdConverter(BaseConverter):
    """Accepts the ids that storages assign, and no other notation of a number."""

    def convert(self, value: str) -> int | None:
        return int(value) if is_id(value) else None
