"""The main button of a form drops nothing that was entered: it is stored, or shown again.

The test runs for every form with texts, and for new ones too.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from html import unescape

import pytest

from .browser import Browser, Response
from .conftest import Console
from .routes import paths

TYPED = {None, "text", "search", "email", "date"}
"""The types of inputs that a person types into. The page shows no password again."""
VALID = {
    "key": "entered_{}",
    "email": "entered{}@acme.example",
    "date": "2027-01-{:02}",
    "custom_value_expression": "ENTERED {}",
}
"""Valid texts for inputs that do not accept every text. Each form gets texts with its number."""
CHOSEN = {"expiry": "date"}
"""The options on which a text depends: the page only shows the text if they are chosen."""
OPENING = {"add", "paste"}
"""The buttons that add inputs to a form."""


@pytest.fixture
def console(console: Console) -> Console:
    """Return a console with one of everything that a form can be about."""
    field = console.sync_field()
    console.add_field(name="City")
    console.core.administration.issue_key(console.acme.id, name="Backend")
    console.invite("vic@acme.example")
    assert field.id == 1
    return console


def pages(console: Console, dana: Browser) -> Iterator[tuple[Browser, Response]]:
    """Yield each page with a form, as it is opened and with the inputs that its buttons add."""
    ids = {"organization_id": console.acme.id, "field_id": 2}
    for path in paths("GET", ids, default=1):
        for browser in (dana, console.browser()):
            page = browser.get(path)
            if page.status == 200 and typed(page):
                yield browser, page
                for button in page.form().buttons:
                    if button[1] in OPENING:
                        yield browser, browser.submit(browser.get(path), press=button)


def typed(page: Response) -> list[str]:
    """Return the names of the inputs of the page's main form that a person types into."""
    posts = [each for each in page.forms if "csrf" in dict(each.inputs)]
    names = {name for name, _ in posts[-1].inputs} if posts else set()
    return [
        str(attributes["name"])
        for tag, attributes in page.tags
        if attributes.get("name") in names and "readonly" not in attributes
        if tag == "textarea" or (tag == "input" and attributes.get("type") in TYPED)
    ]


def stored(console: Console) -> str:
    """Return everything that forms can change, as one text."""
    core, acme = console.core, console.acme.id
    return repr(
        (
            core.fields.list_fields(acme),
            core.integrations.list_integrations(acme),
            core.administration.list_keys(acme),
            core.administrators.list_administrators(acme),
            core.administrators.list_invitations(acme),
        )
    )


def submit(
    browser: Browser, page: Response, number: int, templates: Mapping[str, str]
) -> tuple[str, list[str]]:
    """Fill in the main form and press its main button. Return the page, and the entered lines."""
    areas = {attributes.get("name") for tag, attributes in page.tags if tag == "textarea"}
    entered = {}
    for name in typed(page):
        lines = (
            f"Entered {name} {{0}}\r\nand {name} {{0}}"
            if name in areas
            else f"Entered {name} {{0}}"
        )
        entered[name] = templates.get(name, lines).format(number)
    named = {name for name, _ in page.form().inputs}
    chosen = {name: value for name, value in CHOSEN.items() if name in named}
    response = browser.submit(page, {**entered, **chosen})
    return unescape(response.html), [
        line for text in entered.values() for line in text.split("\r\n")
    ]


@pytest.mark.parametrize("templates", [VALID, {}], ids=["valid", "invalid"])
def test_what_was_entered_is_stored_or_shown_again(console, dana, templates):
    number, lost = 0, {}
    for number, (browser, page) in enumerate(pages(console, dana), start=1):
        shown, lines = submit(browser, page, number, templates)
        known = f"{shown} {stored(console)}"
        missing = [line for line in lines if line not in known]
        if missing:
            lost[page.path, number] = missing
    assert lost == {}
    assert number > 10
