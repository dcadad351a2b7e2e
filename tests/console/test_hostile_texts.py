"""Names, values and reports are texts on every page. The tests open all routes, also new ones."""

from __future__ import annotations

import json
import re
from contextlib import suppress
from unicodedata import normalize
from urllib.parse import quote

import pytest

from recipient_fields.domain import (
    ADMINISTRATOR,
    Author,
    FieldChanges,
    IntegrationId,
    InvalidAdministrator,
)
from recipient_fields.testing.examples import grant

from ..support.administrators import administrators_of
from .browser import Response
from .hostile_texts import HOSTILE
from .routes import paths
from .test_isolation import fill

SYNC = ("action", "sync")
WITHOUT_NAMES = re.compile("/new$|/sessions$|/administrators")
"""Pages that show no name, or only addresses."""
each_text = pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE)


def shows(page: Response, text: str) -> bool:
    """Return whether the text is visible on the page, as the console stores it."""
    return " ".join(normalize("NFC", text).split()) in normalize("NFC", page.text)


def dangerous(page: Response) -> list[object]:
    """Return the tags that could run a script or load something of another site."""
    return [
        (tag, attributes)
        for tag, attributes in page.tags
        if tag in {"img", "iframe", "object", "style", "base"}
        or (tag == "script" and not (attributes.get("src") or "").startswith("/console/static/"))
        or any(name.startswith("on") or name == "style" for name in attributes)
        or (attributes.get("href") or "").startswith(("javascript:", "http:", "//"))
    ]


@each_text
def test_every_page_shows_names_and_values_as_texts(console, dana, text):
    core, acme = console.core, console.acme.id
    core.administration.rename_organization(acme, text)
    synced = console.sync_field(name="FNAME", label=text)
    ids = fill(console, acme, text)
    core.integrations.rename_integration(acme, IntegrationId(1), text)
    values = FieldChanges(
        allowed_values=[text, "b"], custom_insertion_code=text, custom_value_expression=text
    )
    author = Author(ADMINISTRATOR, name=text)
    core.fields.by(author).update_field(acme, ids["field_id"], values)
    with suppress(InvalidAdministrator):  # An address can't contain every text.
        address = f"{text.replace(' ', '')[:200]}@acme.example"
        ids["administrator_id"] = grant(administrators_of(core), acme, f"member.{address}").id
        console.invite(address)
        ids["invitation_id"] = max(each.id for each in core.administrators.list_invitations(acme))

    each_field = [{**ids, "field_id": field_id} for field_id in (ids["field_id"], synced.id)]
    pages = [dana.get(path) for each in each_field for path in paths("GET", each)]

    opened = [page for page in pages if page.status == 200 and "/o/" in page.path]
    named = [page for page in opened if not WITHOUT_NAMES.search(page.path)]
    assert len(named) > 15
    assert [page.path for page in named if not shows(page, text[:60])] == []
    assert [found for page in pages for found in dangerous(page)] == []
    assert console.core.fields.get_field(acme, ids["field_id"]).custom_insertion_code == text


@each_text
def test_a_search_and_the_name_of_the_organization_are_texts(console, dana, text):
    console.sync_field()
    console.core.administration.rename_organization(console.acme.id, text)
    for browser, path in (
        (dana, f"{console.fields}?q={quote(text)}"),
        (dana, f"{console.settings}/integrations/1/names?key={quote(text)}"),
        (console.browser(), f"/console/sign-in?next={quote(text)}"),
    ):
        page = browser.get(path)
        assert (page.status, dangerous(page)) == (200, [])
        assert shows(page, text) is (browser is dana)


def report(name: str, text: str) -> bytes:
    """Return a report with the text in a label, in allowed values and as the name of a field."""
    city = {"name": name, "data_type": "text", "label": text, "allowed_values": [text[:50]]}
    return json.dumps({"fields": [city, {"name": text, "data_type": "text"}]}).encode()


@each_text
def test_the_results_of_forms_show_texts(console, dana, text):
    created = console.add_integration("hubspot", text)
    integration = f"{console.settings}/integrations/{created.id}"
    key = dana.submit(dana.get(f"{console.settings}/api-keys/new"), {"name": text[:100]})
    pages = [key]
    for label in (text, f"{text[:50]}2"):
        plan = dana.upload(dana.get(integration), "/sync", report("city", label), press=SYNC)
        pages += [plan, dana.submit(plan)]
    for path in (f"{console.settings}/api-keys/1/revoke", f"{integration}/delete"):
        pages.append(dana.follow(dana.submit(dana.get(path))))

    for page in pages:
        assert page.status == 200
        assert shows(page, text[:50])
        assert dangerous(page) == []
