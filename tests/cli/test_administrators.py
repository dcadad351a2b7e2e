"""The commands `recipient-fields administrators`."""

from __future__ import annotations

import re

import pytest

from recipient_fields.adapters.passwords import Argon2PasswordHasher
from recipient_fields.application import AdministratorService, Core
from recipient_fields.domain import (
    AdministratorNotFound,
    EmailAddress,
    OrganizationId,
    Role,
    SecretToken,
    parse_instant,
)

from ..support.command_line import NOT_CONFIRMED, CommandLine

EMAIL = "Dana@acme.example"
ACME = ("--organization", 1)
LINK = re.compile(r"http://127\.0\.0\.1:8080/console/links/([A-Za-z0-9_-]{43})")
PASSWORD = "seven purple tractors"


@pytest.fixture
def service(core: Core) -> AdministratorService:
    storage = core.storage
    return AdministratorService(
        administrators=storage.administrators,
        sessions=storage.sessions,
        hasher=Argon2PasswordHasher(),
    )


@pytest.fixture
def token(cli: CommandLine, acme: OrganizationId) -> str:
    """Invite an administrator, and return the token of the link."""
    (link,) = cli("administrators", "invite", EMAIL, *ACME).table()
    match = LINK.fullmatch(link)
    assert match is not None
    return match[1]


def test_invite_prints_a_link_that_sets_a_password_once(
    cli: CommandLine, acme: OrganizationId, service: AdministratorService
) -> None:
    run = cli("administrators", "invite", EMAIL, *ACME)

    (link,) = run.table()
    match = LINK.fullmatch(link)
    assert match is not None
    assert re.fullmatch(
        rf"{EMAIL} has the role admin in organization 1, Acme\.\n"
        rf"Send this link to {EMAIL}\. It works once, until 2\S+Z\. It is not shown again\.\n",
        run.err,
    )
    signed_in = service.set_password(match[1], PASSWORD, address="192.0.2.1", user_agent="")
    assert signed_in.administrator.role_in(acme) is Role.ADMIN


def test_the_link_has_the_address_of_the_console(cli: CommandLine, acme: OrganizationId) -> None:
    url = ("--console-url", "https://fields.example.com/")
    invited = cli("administrators", "invite", EMAIL, "--organization", acme, *url, "--json")
    reset = cli(
        *("administrators", "reset", EMAIL, "--json"),
        RECIPIENT_FIELDS_CONSOLE_URL="https://fields.example.com",
    )

    for run in (invited, reset):
        document = run.document()
        assert document["email"] == EMAIL
        assert document["link"].startswith("https://fields.example.com/console/links/")
        assert SecretToken.parse(document["link"].rpartition("/")[2]) is not None
        parse_instant(document["expires_at"])


@pytest.mark.parametrize(
    "url", ["fields.example.com", "ftp://x", "https://", "https://x/console", "http://[", ""]
)
def test_an_address_that_is_not_one_of_a_console_is_rejected(cli: CommandLine, url: str) -> None:
    error = cli("administrators", "reset", EMAIL, "--console-url", url).usage_error()

    assert "use the address without a path, for example https://fields.example.com." in error


def test_an_administrator_with_a_password_is_invited_without_a_link(
    cli: CommandLine, token: str, service: AdministratorService
) -> None:
    service.set_password(token, PASSWORD, address="192.0.2.1", user_agent="")

    invite = ("administrators", "invite", EMAIL.upper(), *ACME)
    document = cli(*invite, "--json").document()
    assert document == {"email": EMAIL, "link": None, "expires_at": None}
    assert cli(*invite).out == ""


def test_the_last_admin_can_not_become_a_viewer(cli: CommandLine, token: str) -> None:
    failure = cli("administrators", "invite", EMAIL, *ACME, "--role", "viewer").failure()

    assert "An organization needs at least one administrator with the role admin." in failure


@pytest.mark.parametrize("email", ["", "dana", "dana@", "@acme.example", "dana@acme example"])
def test_an_invalid_email_is_rejected(cli: CommandLine, acme: OrganizationId, email: str) -> None:
    assert "email: " in cli("administrators", "invite", email, *ACME).failure()
    assert "email: " in cli("administrators", "reset", email).failure()


def test_list_shows_the_administrators_by_email(
    cli: CommandLine, token: str, service: AdministratorService
) -> None:
    cli("administrators", "invite", "alex@acme.example", *ACME, "--role", "viewer")
    service.set_password(token, PASSWORD, address="192.0.2.1", user_agent="")

    assert [line.split() for line in cli("administrators", "list", *ACME).table()] == [
        ["ID", "EMAIL", "ROLE", "STATE"],
        ["2", "alex@acme.example", "viewer", "invited"],
        ["1", EMAIL, "admin", "active"],
    ]
    listed = cli("administrators", "list", *ACME, "--json").document()["administrators"]
    for each in listed:
        parse_instant(each.pop("created_at"))
    assert listed == [
        {"id": 2, "email": "alex@acme.example", "role": "viewer", "state": "invited"},
        {"id": 1, "email": EMAIL, "role": "admin", "state": "active"},
    ]


def test_revoke_ends_the_account_and_its_sessions(
    cli: CommandLine, acme: OrganizationId, token: str, service: AdministratorService
) -> None:
    signed_in = service.set_password(token, PASSWORD, address="192.0.2.1", user_agent="")

    run = cli("administrators", "revoke", EMAIL.lower(), *ACME, "--yes")
    assert run.messages() == f"Revoked administrator {EMAIL} of organization 1, Acme.\n"
    assert service.authenticate(signed_in.token.reveal()) is None
    assert service.list_administrators(acme) == ()


def test_revoke_requires_a_confirmation(
    cli: CommandLine, acme: OrganizationId, token: str, service: AdministratorService
) -> None:
    assert NOT_CONFIRMED in cli("administrators", "revoke", EMAIL, *ACME).failure()
    assert [each.email for each in service.list_administrators(acme)] == [EmailAddress(EMAIL)]


def test_an_unknown_administrator_can_not_be_revoked_or_reset(
    cli: CommandLine, core: Core, acme: OrganizationId, token: str
) -> None:
    other = core.administration.create_organization("Other").id
    for command in (
        ("revoke", EMAIL, "--organization", other, "--yes"),
        ("revoke", "eve@acme.example", *ACME, "--yes"),
        ("reset", "eve@acme.example"),
    ):
        assert str(AdministratorNotFound()) in cli("administrators", *command).failure()


def test_reset_prints_a_link_and_keeps_the_password_until_it_is_used(
    cli: CommandLine, token: str, service: AdministratorService
) -> None:
    service.set_password(token, PASSWORD, address="192.0.2.1", user_agent="")

    (link,) = cli("administrators", "reset", EMAIL).table()
    service.sign_in(EMAIL, PASSWORD, address="127.0.0.1", user_agent="")
    another = "eight orange tractors"
    service.set_password(link.rpartition("/")[2], another, address="192.0.2.1", user_agent="")
    service.sign_in(EMAIL, another, address="127.0.0.1", user_agent="")
