"""The console on the memory storage, with a manual clock and cheap password hashes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import falcon
import pytest
from attrs import frozen

from recipient_fields.application import (
    Core,
    EspAccounts,
    IssuedInvitation,
    SecretCipher,
    Storage,
)
from recipient_fields.domain import (
    ADMINISTRATOR,
    Author,
    Channel,
    DataType,
    FieldDraft,
    Organization,
    OrganizationId,
    RecipientField,
    Role,
)
from recipient_fields.domain.esp import BUILT_IN, Profiles
from recipient_fields.domain.integrations import EspField, Integration
from recipient_fields.entrypoints.console.app import create_console
from recipient_fields.entrypoints.console.requests import Cookie
from recipient_fields.entrypoints.service.selection import (
    open_accounts,
    open_field_source,
    open_recipients,
    open_storage,
)

from ..http.conftest import Clock
from ..support.administrators import cheap_hasher
from ..support.integrations import add_integration
from .browser import Browser, Response

EMAIL = "dana@acme.example"
PASSWORD = "correct horse battery"


@frozen
class Console:
    """The console and what is behind it."""

    core: Core
    clock: Clock
    app: falcon.App[Any, Any]
    acme: Organization

    @property
    def fields(self) -> str:
        """The path of the fields of the first organization."""
        return f"/console/o/{self.acme.id}/fields"

    @property
    def settings(self) -> str:
        """The path of the settings of the first organization."""
        return f"/console/o/{self.acme.id}/settings"

    def browser(self) -> Browser:
        """Return a browser that is not signed in."""
        return Browser(self.app)

    def invite(
        self, email: str, role: Role = Role.ADMIN, organization_id: OrganizationId | None = None
    ) -> str:
        """Invite an administrator, and return the path of the link."""
        organization_id = organization_id or self.acme.id
        invitation = self.core.administrators.invite(organization_id, email, role)
        assert isinstance(invitation, IssuedInvitation)
        return f"/console/invitations/{invitation.token.reveal()}"

    def signed_in(
        self,
        email: str = EMAIL,
        role: Role = Role.ADMIN,
        organization_id: OrganizationId | None = None,
    ) -> Browser:
        """Return the browser of a new administrator, signed in without the pages for it."""
        token = self.invite(email, role, organization_id).rpartition("/")[2]
        signed_in = self.core.administrators.accept_invitation(
            token, PASSWORD, address="127.0.0.1", user_agent=""
        )
        return Browser(self.app, {Cookie.SESSION.value: signed_in.token.reveal()})

    def sign_in(self, browser: Browser, password: str = PASSWORD, email: str = EMAIL) -> Response:
        """Fill in the sign-in form."""
        page = browser.get("/console/sign-in")
        return browser.submit(page, {"email": email, "password": password})

    def add_field(
        self,
        by: Channel = ADMINISTRATOR,
        organization_id: OrganizationId | None = None,
        **members: Any,
    ) -> RecipientField:
        """Create a field through any channel but an integration's."""
        defaults = {"name": "Shop", "data_type": DataType.TEXT}
        draft = FieldDraft(**{**defaults, **members})
        service = self.core.fields.by(Author(by))
        return service.create_field(organization_id or self.acme.id, draft)

    def add_integration(self, esp: str, name: str, *fields: str | EspField) -> Integration:
        """Create an integration of Acme, and sync fields, which are texts if they are names."""
        return add_integration(self.core, self.acme.id, esp, name, *fields)

    def sync_field(self, name: str = "FNAME", label: str = "First name") -> RecipientField:
        """Create an integration of Mailchimp with one field, and return the field."""
        reported = EspField(name=name, label=label, data_type=DataType.TEXT)
        self.add_integration("mailchimp", "Main audience", reported)
        return self.core.fields.list_fields(self.acme.id).fields[-1]


def open_console(
    clock: Clock,
    url: str = "memory:",
    *,
    storage: Storage | None = None,
    profiles: Profiles = BUILT_IN,
    accounts: EspAccounts | None = None,
    cipher: SecretCipher | None = None,
    **options: Any,
) -> Console:
    """Return a console whose first organization is Acme, on the storage or on that at the URL."""
    storage = storage or open_storage(url)
    core = Core.over(
        storage,
        clock=clock,
        hasher=cheap_hasher(),
        profiles=profiles,
        open_accounts=lambda: accounts or open_accounts(()),
        open_cipher=lambda: cipher,
    )
    defaults = {
        "origin": None,
        "client_address": lambda req: req.remote_addr,
        "open_source": lambda _organization_id, esp: open_field_source(esp, {}),
        "open_recipients": open_recipients,
    }
    app = create_console(core, **{**defaults, **options})
    return Console(core, clock, app, core.administration.create_organization("Acme"))


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def console(clock: Clock) -> Iterator[Console]:
    console = open_console(clock)
    yield console
    console.core.storage.close()


@pytest.fixture
def dana(console: Console) -> Browser:
    """Return the browser of an administrator of Acme."""
    return console.signed_in()


@pytest.fixture
def viewer(console: Console) -> Browser:
    """Return the browser of a viewer of Acme."""
    return console.signed_in("vic@acme.example", Role.VIEWER)
