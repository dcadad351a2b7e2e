"""An administrator of one organization gains nothing in another one: three people, three browsers.

Ada is an administrator of Acme, and Bea of Brewery. Ada registers the address of Cleo, who works at
the brewery, before Bea and the operator know it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from attrs import frozen

from recipient_fields.domain import Organization
from recipient_fields.entrypoints.service.selection import migrate_storage, open_core
from recipient_fields.testing.examples import grant

from ..support.administrators import administrators_of
from ..support.command_line import CommandLine
from ..support.service import Service
from .conftest import chromium
from .window import Window

ADA, BEA, CLEO = "ada@acme.example", "bea@brewery.example", "ceo@brewery.example"
OF_ADA, OF_CLEO = "four random words", "nine green boats"
SAME_ANSWER = "This is the only time that you can see it. It accepts the invitation, works once"


@frozen
class People:
    """The windows of three people, and the operator's command line."""

    ada: Window
    bea: Window
    cleo: Window
    acme: Organization
    brewery: Organization
    operator: CommandLine
    origin: str

    def console_path(self, organization: Organization) -> str:
        """Return the path of the organization's fields."""
        return f"/console/o/{organization.id}/fields"


@pytest.fixture
def people(tmp_path: Path) -> Iterator[People]:
    """Return the people. Ada and Bea are signed in."""
    url = f"sqlite:{tmp_path / 'fields.db'}"
    migrate_storage(url)
    core = open_core(url)
    service = Service(url, "--console")
    with ExitStack() as stack:
        stack.callback(core.storage.close)
        stack.callback(service.kill)
        ada, bea, cleo = (
            Window(
                stack.enter_context(chromium(tmp_path / name)),
                service.url,
                runs_scripts=True,
                is_phone=False,
                axe=None,
            )
            for name in ("ada", "bea", "cleo")
        )
        acme, brewery = map(core.administration.create_organization, ("Acme", "Brewery"))
        for window, email, organization in ((ada, ADA, acme), (bea, BEA, brewery)):
            account = grant(administrators_of(core), organization.id, email)
            token = core.administrators.create_sign_in_link(account.id).token
            window.open(f"/console/links/{token.reveal()}")
            window.press("Sign in")
            assert window.heading == "Fields"
        yield People(ada, bea, cleo, acme, brewery, CommandLine(url), service.url)


def invite(window: Window, organization: Organization, email: str) -> str:
    """Invite an admin in the console, and return the link."""
    window.open(f"/console/o/{organization.id}/settings/administrators")
    window.press("Invite person")
    window.fill("Email address", email)
    window.choose("Admin")
    window.press("Invite person")
    assert f"Send this link to {email} now" in window.text
    assert SAME_ANSWER in window.text
    return window.find("#secret").text


def accept(window: Window, link: str, password: str) -> None:
    """Open the link, and submit the password."""
    window.open(link)
    assert window.heading == "Accept your invitation"
    window.fill("Password", password)
    window.press("Accept and sign in")


def opens(window: Window, path: str) -> bool:
    """Return whether the window can open the page, which otherwise looks like a missing one."""
    window.open(path)
    assert window.heading in {"Fields", "There is no such page"}
    return window.heading == "Fields"


def test_an_organization_that_registers_an_address_first_opens_no_other_one(
    people: People,
) -> None:
    acme, brewery = (people.console_path(each) for each in (people.acme, people.brewery))

    # Ada registers Cleo's address, and keeps the session.
    accept(people.ada, invite(people.ada, people.acme, CLEO), OF_ADA)
    assert "You have accepted the invitation." in people.ada.text
    assert people.ada.path == acme

    # Bea invites Cleo. The console answers as for an address without an account.
    unknown = invite(people.bea, people.brewery, "unknown@brewery.example")
    link = invite(people.bea, people.brewery, CLEO)
    for email in (CLEO, "unknown@brewery.example"):
        assert f"{email} Invited" in people.bea.text
    pages = []
    for each in (unknown, link):
        people.bea.open(each)
        text = people.bea.text.replace(CLEO, "unknown@brewery.example")
        pages.append(re.sub(r"\d\d:\d\d UTC", "", text))  # The invitations differ in age.
    assert pages[0] == pages[1]
    assert f"Brewery invites {CLEO}" in people.bea.text
    assert "with the role admin" in people.bea.text

    # Ada's session and a new one open Acme only.
    for _ in range(2):
        assert opens(people.ada, acme)
        assert not opens(people.ada, brewery)
        people.ada.open("/console/organizations")
        assert "Brewery" not in people.ada.text
        people.ada.press("Sign out")
        people.ada.fill("Email address", CLEO)
        people.ada.fill("Password", OF_ADA)
        people.ada.press("Sign in")
        assert people.ada.path == acme

    # Cleo does not know Ada's password. The operator's link sets another one, and opens nothing.
    accept(people.cleo, link, OF_CLEO)
    assert "This email address has an account with another password" in people.cleo.text
    reset = ("administrators", "reset", CLEO, "--console-url", people.origin)
    people.cleo.open(people.operator(*reset).table()[0])
    people.cleo.fill("New password", OF_CLEO)
    people.cleo.press("Set password and sign in")
    assert not opens(people.cleo, brewery)

    # With the link and her password, Cleo joins the brewery. All other sessions have ended.
    accept(people.cleo, link, OF_CLEO)
    assert people.cleo.path == brewery
    people.cleo.open("/console")
    assert people.cleo.heading == "Organizations"
    assert "Acme Admin" in people.cleo.text
    assert "Brewery Admin" in people.cleo.text
    people.ada.open(brewery)
    assert people.ada.heading == "Sign in"
    people.ada.fill("Email address", CLEO)
    people.ada.fill("Password", OF_ADA)
    people.ada.press("Sign in")
    assert "The email address or the password is not correct." in people.ada.text
    people.bea.open(f"/console/o/{people.brewery.id}/settings/administrators")
    assert f"{CLEO} Invited" not in people.bea.text


def test_the_operator_s_invitation_opens_nothing_before_it_is_accepted(people: People) -> None:
    brewery = people.console_path(people.brewery)
    accept(people.ada, invite(people.ada, people.acme, CLEO), OF_ADA)

    invited = people.operator(
        *("administrators", "invite", CLEO, "--organization", people.brewery.id),
        *("--console-url", people.origin),
    )

    assert f"{CLEO} has an account in another organization" in invited.err
    (link,) = invited.table()
    assert not opens(people.ada, brewery)
    # Whoever accepts it signs in again: the open session gets nothing.
    people.ada.open(link)
    assert f"You are signed in as {CLEO}" in people.ada.text
    assert not opens(people.ada, brewery)

    # An invitation that was withdrawn opens nothing.
    people.bea.open(f"/console/o/{people.brewery.id}/settings/administrators")
    people.bea.press(f"Withdraw the invitation of {CLEO}")
    people.bea.press("Withdraw invitation")
    assert f"The invitation of {CLEO} was withdrawn." in people.bea.text
    people.cleo.open(link)
    assert people.cleo.heading == "This link does not work"
