"""The commands `recipient-fields administrators`."""

from __future__ import annotations

import re
from datetime import UTC, datetime

import pytest
from attrs import evolve

from recipient_fields.application import (
    AdministratorService,
    Core,
    SignedIn,
)
from recipient_fields.domain import (
    AdministratorNotFound,
    EmailAddress,
    LinkNotValid,
    OrganizationId,
    Role,
    SecretToken,
    parse_instant,
)
from recipient_fields.testing.examples import an_invitation_draft

from ...support.administrators import administrators_of, cheap_hasher
from ...support.command_line import NOT_CONFIRMED, CommandLine

EMAIL = "Dana@acme.example"
ACME = ("--organization", 1)
LINK = re.compile(r"http://127\.0\.0\.1:8080/console/invitations/([A-Za-z0-9_-]{43})")
PASSWORD = "seven purple tractors"
LONG_AGO = datetime(2020, 1, 1, tzinfo=UTC)


@pytest.fixture
def service(core: Core) -> AdministratorService:
    return evolve(core.administrators, hasher=cheap_hasher())


@pytest.fixture
def token(cli: CommandLine, acme: OrganizationId) -> str:
    """Invite an administrator, and return the token of the link."""
    (link,) = cli("administrators", "invite", EMAIL, *ACME).table()
    match = LINK.fullmatch(link)
    assert match is not None
    return match[1]


def accept(service: AdministratorService, token: str) -> SignedIn:
    return service.accept_invitation(token, PASSWORD, address="192.0.2.1", user_agent="")


def test_invite_prints_a_link_that_sets_a_password_once(cli, acme, service):
    run = cli("administrators", "invite", EMAIL, *ACME)

    (link,) = run.table()
    match = LINK.fullmatch(link)
    assert match is not None
    assert re.fullmatch(
        rf"Invited {EMAIL} with the role admin in organization 1, Acme\.\n"
        rf"Send this link to {EMAIL}\. It works once, until 2\S+Z\. It is not shown again\.\n",
        run.err,
    )
    assert service.list_administrators(acme) == ()
    assert accept(service, match[1]).administrator.role_in(acme) is Role.ADMIN


def test_invite_tells_the_operator_about_an_account_of_another_organization(
    cli, core, token, service
):
    signed_in = accept(service, token)
    other = core.administration.create_organization("Other").id

    run = cli("administrators", "invite", EMAIL, "--organization", other)

    assert f"{EMAIL} has an account in another organization" in run.err
    assert service.authenticate(signed_in.token.reveal()) is not None
    assert service.list_administrators(other) == ()
    (link,) = run.table()
    assert accept(service, link.rpartition("/")[2]).administrator.role_in(other) is Role.ADMIN


def test_the_link_has_the_address_of_the_console(cli, acme, token, service):
    accept(service, token)
    url = ("--console-url", "https://fields.example.com/")
    invite = ("administrators", "invite", "alex@acme.example", "--organization", acme)
    invited = cli(*invite, *url, "--json")
    reset = cli(
        *("administrators", "reset", EMAIL, "--json"),
        RECIPIENT_FIELDS_CONSOLE_URL="https://fields.example.com",
    )

    for run, email, kind in (
        (invited, "alex@acme.example", "invitations"),
        (reset, EMAIL, "links"),
    ):
        document = run.document()
        assert document["email"] == email
        assert document["link"].startswith(f"https://fields.example.com/console/{kind}/")
        assert SecretToken.parse(document["link"].rpartition("/")[2]) is not None
        parse_instant(document["expires_at"])


@pytest.mark.parametrize(
    "url", ["fields.example.com", "ftp://x", "https://", "https://x/console", "http://[", ""]
)
def test_an_address_that_is_not_one_of_a_console_is_rejected(cli, url):
    error = cli("administrators", "reset", EMAIL, "--console-url", url).usage_error()

    assert "use the address without a path, for example https://fields.example.com." in error


def test_an_administrator_of_the_organization_gets_the_role_without_a_link(
    cli, acme, token, service
):
    accept(service, token)

    invite = ("administrators", "invite", EMAIL.upper(), *ACME)
    document = cli(*invite, "--json").document()
    assert document == {"email": EMAIL, "link": None, "expires_at": None}
    run = cli(*invite)
    assert run.out == ""
    described = "an administrator with the role admin in organization 1, Acme"
    assert run.messages() == f"{EMAIL} is {described}.\n"


def test_the_last_admin_can_not_become_a_viewer(cli, token, service):
    accept(service, token)
    cli("administrators", "invite", "pending@acme.example", *ACME)
    failure = cli("administrators", "invite", EMAIL, *ACME, "--role", "viewer").failure()

    assert "An organization needs at least one administrator with the role admin." in failure


@pytest.mark.parametrize("email", ["", "dana", "dana@", "@acme.example", "dana@acme example"])
def test_an_invalid_email_is_rejected(cli, acme, email):
    assert "email: " in cli("administrators", "invite", email, *ACME).failure()
    assert "email: " in cli("administrators", "reset", email).failure()


def test_list_shows_the_administrators_by_email(cli, token, service):
    cli("administrators", "invite", "alex@acme.example", *ACME, "--role", "viewer")
    accept(service, token)

    assert [line.split() for line in cli("administrators", "list", *ACME).table()] == [
        ["ID", "EMAIL", "ROLE", "STATE"],
        ["1", EMAIL, "admin", "active"],
        ["-", "alex@acme.example", "viewer", "invited"],
    ]
    listed = cli("administrators", "list", *ACME, "--json").document()["administrators"]
    for each in listed:
        parse_instant(each.pop("created_at"))
    assert listed == [
        {"id": 1, "email": EMAIL, "role": "admin", "state": "active"},
        {"id": None, "email": "alex@acme.example", "role": "viewer", "state": "invited"},
    ]


def test_list_shows_an_invitation_whose_link_has_expired(cli, core, acme):
    old = an_invitation_draft(EmailAddress(EMAIL), created_at=LONG_AGO, expires_at=LONG_AGO)
    administrators_of(core).invite(acme, old)

    (_, row) = cli("administrators", "list", *ACME).table()
    assert row.split() == ["-", EMAIL, "admin", "expired"]


def test_revoke_ends_the_account_and_its_sessions(cli, acme, token, service):
    signed_in = accept(service, token)

    run = cli("administrators", "revoke", EMAIL.lower(), *ACME, "--yes")
    assert run.messages() == f"Revoked administrator {EMAIL} of organization 1, Acme.\n"
    assert service.authenticate(signed_in.token.reveal()) is None
    assert service.list_administrators(acme) == ()


def test_revoke_withdraws_the_invitation_of_a_person_who_has_not_accepted_it(
    cli, acme, token, service
):
    run = cli("administrators", "revoke", EMAIL.lower(), *ACME, "--yes")

    assert run.messages() == f"Revoked the invitation of {EMAIL} to organization 1, Acme.\n"
    assert service.list_invitations(acme) == ()
    with pytest.raises(LinkNotValid):
        accept(service, token)


def test_revoke_requires_a_confirmation(cli, acme, token, service):
    accept(service, token)
    assert NOT_CONFIRMED in cli("administrators", "revoke", EMAIL, *ACME).failure()
    assert [each.email for each in service.list_administrators(acme)] == [EmailAddress(EMAIL)]


def test_an_unknown_administrator_can_not_be_revoked_or_reset(cli, core, acme, token):
    other = core.administration.create_organization("Other").id
    for command in (
        ("revoke", EMAIL, "--organization", other, "--yes"),
        ("revoke", "eve@acme.example", *ACME, "--yes"),
        ("reset", "eve@acme.example"),
    ):
        assert str(AdministratorNotFound()) in cli("administrators", *command).failure()


def test_reset_prints_a_link_and_keeps_the_password_until_it_is_used(cli, token, service):
    accept(service, token)

    (link,) = cli("administrators", "reset", EMAIL).table()
    service.sign_in(EMAIL, PASSWORD, address="127.0.0.1", user_agent="")
    another = "eight orange tractors"
    service.set_password(link.rpartition("/")[2], another, address="192.0.2.1", user_agent="")
    service.sign_in(EMAIL, another, address="127.0.0.1", user_agent="")
