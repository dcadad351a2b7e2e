"""The console of two processes on one PostgreSQL database, and during an outage."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from time import monotonic

import pytest

from recipient_fields.application import Core
from recipient_fields.domain import Organization, Role
from recipient_fields.testing.examples import grant

from ...support.administrators import administrators_of
from ...support.postgres import PostgresServer
from ...support.service import Service
from ...support.waiting import eventually
from ..conftest import checked
from ..console import (
    SIGN_IN,
    RecordingBrowser,
    browse,
    create_field,
    invite,
    logged_secrets,
    set_password,
    sign_in,
)

pytestmark = pytest.mark.slow

EMAIL = "dana@acme.example"
MAX_RESPONSE_SECONDS = 1.2
"""The limit of a 503 of the API during an outage, see docs/internals/reliability.md."""


@pytest.fixture
def consoles(database: str) -> Iterator[tuple[Service, Service]]:
    """Run two processes of the service on the same database."""
    options = ("--console", "--log-level", "debug")
    with ExitStack() as stack:
        one, other = (stack.enter_context(checked(Service(database, *options))) for _ in range(2))
        yield one, other


@pytest.fixture
def fields(acme: Organization) -> str:
    """Return the path of the list of fields."""
    return f"/console/o/{acme.id}/fields"


@pytest.fixture
def dana(
    consoles: tuple[Service, Service], core: Core, acme: Organization
) -> tuple[RecordingBrowser, RecordingBrowser]:
    """Sign an administrator in with the first process; return a browser of each with the cookie."""
    one, other = (browse(service.url) for service in consoles)
    set_password(one, invite(core, acme.id, EMAIL))
    other.cookies = one.cookies
    return one, other


def test_a_session_started_in_one_process_continues_in_the_other(
    consoles: tuple[Service, Service],
    dana: tuple[RecordingBrowser, RecordingBrowser],
    fields: str,
) -> None:
    one, other = dana

    created = create_field(other, fields, "Shop")

    assert "Shop" in created.text
    assert "Shop" in one.get(fields).text
    for service in consoles:
        service.kill()
        assert logged_secrets(service.stderr, one, other) == []


def test_signing_out_in_one_process_ends_the_session_in_the_other(
    dana: tuple[RecordingBrowser, RecordingBrowser], fields: str
) -> None:
    one, other = dana
    stolen = dict(one.cookies)
    assert other.get(fields).status == 200

    one.submit(one.get(fields))
    other.cookies = stolen

    assert other.get(fields).status == 303


def test_a_revoked_administrator_is_signed_out_of_both_with_the_next_request(
    dana: tuple[RecordingBrowser, RecordingBrowser], core: Core, acme: Organization, fields: str
) -> None:
    form = dana[0].get(f"{fields}/new")
    assert [browser.get(fields).status for browser in dana] == [200, 200]

    (administrator,) = core.administrators.list_administrators(acme.id)
    core.administrators.revoke(acme.id, administrator.id)

    assert dana[0].submit(form, {"name": "Late"}).status == 401
    assert [browser.get(fields).status for browser in dana] == [303, 303]
    assert sign_in(dana[0], EMAIL).status == 422
    assert core.fields.list_fields(acme.id).fields == ()


def test_an_administrator_who_becomes_a_viewer_can_change_nothing_in_either_process(
    dana: tuple[RecordingBrowser, RecordingBrowser], core: Core, acme: Organization, fields: str
) -> None:
    forms = [browser.get(f"{fields}/new") for browser in dana]
    (administrator,) = core.administrators.list_administrators(acme.id)

    grant(administrators_of(core), acme.id, "second@acme.example")
    core.administrators.change_role(acme.id, administrator.id, Role.VIEWER)

    for browser, form in zip(dana, forms, strict=True):
        assert browser.submit(form, {"name": "Late"}).status == 403
        assert browser.get(fields).status == 200


def test_a_form_submitted_to_both_processes_at_once_has_one_effect(
    dana: tuple[RecordingBrowser, RecordingBrowser], core: Core, acme: Organization, fields: str
) -> None:
    form = dana[0].get(f"{fields}/new")

    with ThreadPoolExecutor(10) as pool:
        submitted = [pool.submit(dana[n % 2].submit, form, {"name": "Shop"}) for n in range(10)]
        statuses = {each.result().status for each in submitted}

    assert statuses == {303}
    assert [field.name for field in core.fields.list_fields(acme.id).fields] == ["Shop"]


def test_attempts_are_throttled_across_processes(
    consoles: tuple[Service, Service], dana: tuple[RecordingBrowser, RecordingBrowser]
) -> None:
    browsers = [browse(service.url) for service in consoles]

    statuses = [sign_in(browsers[n % 2], EMAIL, "a wrong one").status for n in range(7)]

    assert statuses == [422] * 5 + [429] * 2


def test_an_outage_shows_the_error_page_in_time_and_keeps_the_session(
    consoles: tuple[Service, Service],
    dana: tuple[RecordingBrowser, RecordingBrowser],
    server: PostgresServer,
    fields: str,
) -> None:
    browser = dana[0]
    form = browser.get(f"{fields}/new")
    sign_in_page = browse(consoles[0].url).get(SIGN_IN)
    server.stop("immediate")
    try:
        for send in (
            lambda: browser.get(fields),
            lambda: browser.submit(form, {"name": "Shop"}),
            lambda: browser.submit(sign_in_page, {"email": EMAIL, "password": "x"}),
        ):
            began = monotonic()
            response = send()
            assert monotonic() - began < MAX_RESPONSE_SECONDS
            assert response.status == 503
            assert response.headers["Retry-After"] == "1"
            assert "The console is temporarily unavailable" in response.text
            assert "PostgreSQL" not in response.text
    finally:
        server.start()
    eventually(lambda: browser.get(fields).status == 200)
    assert "Shop" in browser.follow(browser.submit(form, {"name": "Shop"})).text
