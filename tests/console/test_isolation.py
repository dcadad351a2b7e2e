"""Isolation and roles. The tests run for every route with an organization, also for new ones."""

from __future__ import annotations

import re
from typing import Any
from urllib.parse import urljoin

import pytest

from recipient_fields.domain import ADMINISTRATOR, Author, DataType, OrganizationId, Role
from recipient_fields.domain.esp import Esp
from recipient_fields.domain.integrations import EspField
from recipient_fields.testing.examples import grant

from ..support.administrators import administrators_of
from .browser import Browser, Response
from .conftest import Console
from .routes import ORGANIZATION, parameters, paths, templates

MISSING = 999
OPEN_TO_VIEWERS = ("/settings/sessions", "/content", "/fields/check")
"""Parts of the paths of forms that concern only the viewer, or change nothing."""


@pytest.fixture
def brewery(console: Console) -> dict[str, Any]:
    """Create another organization, and return the id of one thing of each kind in it."""
    organization = console.core.administration.create_organization("Brewery")
    console.add_field(organization_id=organization.id, name="Filler")
    console.signed_in("bob@brewery.example", Role.ADMIN, organization.id)
    return fill(console, organization.id)


def fill(console: Console, organization_id: OrganizationId, name: str = "Secret") -> dict[str, Any]:
    """Create one thing of each kind in an organization with an administrator. Return the ids."""
    core = console.core
    field = console.add_field(ADMINISTRATOR, organization_id, name=name, key="secret")
    integration = core.integrations.create_integration(organization_id, esp=Esp("braze"), name=name)
    key = core.administration.issue_key(organization_id, name=name[:100]).api_key
    administrator = core.administrators.list_administrators(organization_id)[0]
    session = core.administrators.list_sessions(administrator.id)[0]
    console.invite("secret@brewery.example", Role.ADMIN, organization_id)
    invitation = core.administrators.list_invitations(organization_id)[0]
    return {
        ORGANIZATION: organization_id,
        "field_id": field.id,
        "integration_id": integration.id,
        "key_id": key.id,
        "administrator_id": administrator.id,
        "invitation_id": invitation.id,
        "session_id": session.id,
        "token": "A" * 43,
    }


@pytest.mark.parametrize("method", ["GET", "POST"])
def test_another_organization_looks_like_a_missing_one(console, dana, brewery, method):
    missing = dict.fromkeys(brewery, MISSING)

    for foreign_path, missing_path in zip(
        paths(method, brewery), paths(method, missing), strict=True
    ):
        if "/o/" in foreign_path:
            foreign = _request(dana, method, foreign_path, console)
            assert foreign.status == 404, foreign_path
            assert _shown(foreign) == _shown(_request(dana, method, missing_path, console))


@pytest.mark.parametrize("method", ["GET", "POST"])
def test_the_ids_of_another_organization_look_like_missing_ones(console, dana, brewery, method):
    foreign_ids = brewery | {ORGANIZATION: console.acme.id}
    missing_ids = dict.fromkeys(brewery, MISSING) | {ORGANIZATION: console.acme.id}

    for template, foreign_path, missing_path in zip(
        templates(method),
        paths(method, foreign_ids),
        paths(method, missing_ids),
        strict=True,
    ):
        if ORGANIZATION in parameters(template) and len(parameters(template)) > 1:
            foreign = _request(dana, method, foreign_path, console)
            assert foreign.status == 404, foreign_path
            assert _shown(foreign) == _shown(_request(dana, method, missing_path, console))
    assert len(console.core.fields.list_fields(brewery[ORGANIZATION]).fields) == 2


@pytest.mark.parametrize("text", ["0", "01", "+1", "1.0", "1_0", "\u0661", "-1", "9" * 17, "x"])
def test_a_malformed_id_looks_like_a_missing_one(console, dana, text):
    for path in (f"/console/o/{text}/fields", f"{console.fields}/{text}"):
        assert dana.get(path).status == 404


def test_a_viewer_changes_nothing(console, dana, viewer):
    field = console.add_field(name="City")
    ids = {ORGANIZATION: console.acme.id, "field_id": field.id}

    for path in paths("POST", ids, default=1):
        if not is_open_to_viewers(path):
            response = _request(viewer, "POST", path, console)
            assert response.status == 403, path
            assert "Your role in this organization is viewer" in response.text
    assert console.core.fields.list_fields(console.acme.id).fields == (field,)


def test_a_viewer_sees_everything_and_no_form_or_link_that_is_forbidden(console, dana, viewer):
    ids, acme = fill(console, console.acme.id), console.acme.id
    deleted = console.add_field(name="Secret deleted")
    console.core.fields.by(Author(ADMINISTRATOR)).delete_field(acme, deleted.id)
    removed = EspField(name="secret removed", data_type=DataType.TEXT)
    for reported in ([removed], []):
        console.core.integrations.sync_fields(acme, ids["integration_id"], reported)
    opened: list[Response] = []
    for field_id in (ids["field_id"], deleted.id):
        for path in paths("GET", {**ids, "field_id": field_id}):
            page = viewer.get(path)
            if page.status == 200 and "/o/" in path:
                opened.append(page)

    assert len(opened) > 20
    assert {page.path for page in opened if "secret" not in page.text.lower()} == {
        f"{console.settings}/sessions"
    }
    forms = {urljoin(page.path, f.action) for page in opened for f in page.forms if f.is_post}
    links = {urljoin(page.path, link) for page in opened for link in page.links.values()}
    assert [path for path in forms if not is_open_to_viewers(path)] == []
    assert [path for path in links if viewer.get(path).status == 403] == []
    page = viewer.get(f"{console.fields}/{ids['field_id']}")
    assert "Your role in this organization is viewer" in page.text


def test_a_viewer_opens_no_page_that_is_only_a_form(console, dana, viewer):
    ids = fill(console, console.acme.id)
    forms = set(paths("GET", ids)) & set(paths("POST", ids))
    integration = f"{console.settings}/integrations/{ids['integration_id']}"

    opened = {path for path in forms if viewer.get(path).status != 403}

    assert {path for path in opened if not is_open_to_viewers(path)} == {
        f"{integration}/names",
        f"{integration}/removed",
    }


def is_open_to_viewers(path: str) -> bool:
    return "/o/" not in path or any(part in path for part in OPEN_TO_VIEWERS)


def test_a_role_holds_from_the_next_request(console, dana):
    grant(administrators_of(console.core), console.acme.id, "erin@acme.example")
    page = dana.get(f"{console.fields}/new")
    administrators = console.core.administrators
    account = administrators.list_administrators(console.acme.id)[0]
    administrators.change_role(console.acme.id, account.id, Role.VIEWER)

    assert dana.submit(page, {"name": "City"}).status == 403


def _request(browser: Browser, method: str, path: str, console: Console) -> Response:
    if method == "GET":
        return browser.get(path)
    page = browser.get(console.fields)
    return browser.post(path, page.form().inputs)


def _shown(response: Response) -> str:
    """Return the page without what differs on every request."""
    return re.sub(r'value="[^"]*"|Request id: \S+', "", response.html).replace(
        "Request id: <code>", ""
    )
