"""Makes the pictures of the console in `docs/_static`. `make screenshots` runs this file."""

from __future__ import annotations

import html
import json
import os
import subprocess
from collections.abc import Iterator
from datetime import datetime, timedelta
from pathlib import Path

import pytest
from attrs import define, evolve
from selenium.webdriver import Chrome
from selenium.webdriver.common.by import By

from recipient_fields.application import Core, system_clock
from recipient_fields.domain import (
    ADMINISTRATOR,
    API,
    Access,
    AllowedValues,
    Author,
    DataType,
    FieldDraft,
    OrganizationId,
)
from recipient_fields.domain.esp import Esp
from recipient_fields.domain.integrations import EspField, SetName
from recipient_fields.entrypoints.service.selection import migrate_storage, open_storage
from recipient_fields.testing.examples import grant

from ..support.administrators import administrators_of
from ..support.service import Service
from ..support.waiting import eventually
from .page_audit import LAPTOP, PHONE, set_view
from .window import Window

PICTURES = Path(__file__).parents[2] / "docs" / "_static"
MAX_HEIGHT = 1000
EMAIL = "dana@acme.example"

EMAIL_SOURCE = """<h1>Our autumn sale begins</h1>
<img src="https://acme.example/ridge.jpg" alt="Autumn in the mountains" width="520" height="120">
{{#if recipient.preferred_shop = "Hamburg"}}
<p>Visit us in Hamburg: the first ten guests get a gift.</p>
{{else}}
<p>Visit your shop in {{recipient.preferred_shop | default: "town"}}.</p>
{{/if}}
<p><a href="{{link.unsubscribe}}">Unsubscribe</a></p>"""
CONSOLE_WIDTH, CONSOLE_HEIGHT = 960, 480
OVERVIEW_WIDTH, OVERVIEW_HEIGHT = 1280, 416
REQUEST = r"""curl -s $URL/api/v1/recipient_fields \
    -H "Authorization: Bearer $API_KEY" \
    -H "Content-Type: application/json" \
    -d '{"recipient_field": {
          "name": "Loyalty tier",
          "data_type": "text",
          "allowed_values": ["gold", "silver"]
        }}'"""
OVERVIEW = """<!doctype html>
<meta charset="utf-8">
<style>
  :root { color-scheme: light dark; background: light-dark(#fff, #0d1117); }
  body { margin: 0; display: flex; gap: 16px; padding: 8px; }
  pre, img {
    margin: 0; box-sizing: border-box; height: 400px; border-radius: 8px;
    border: 1px solid light-dark(#d0d4d9, #3a414a);
  }
  pre {
    flex: 1; padding: 14px 16px; overflow: hidden; white-space: pre-wrap; word-break: break-all;
    font: 14px/21px "DejaVu Sans Mono", monospace;
    color: light-dark(#1f2328, #e6edf3); background: light-dark(#f6f8fa, #161b22);
  }
</style>
<pre>TEXT</pre>
<img alt="" src="data:image/png;base64,DATA">
"""


@define
class PastClock:
    """A clock that shows the time some days ago."""

    days: float = 0

    def __call__(self) -> datetime:
        return system_clock() - timedelta(days=self.days)


@pytest.fixture
def storage(tmp_path: Path) -> str:
    url = f"sqlite:{tmp_path / 'fields.db'}"
    migrate_storage(url)
    return url


@pytest.fixture
def window(storage: str, browser: Chrome) -> Iterator[Window]:
    """Return the window of an administrator who is signed in to the demonstration."""
    clock = PastClock()
    core = Core.over(open_storage(storage), clock=clock)
    try:
        organization_id = _fill(core, clock)
        (dana,) = core.administrators.list_administrators(organization_id)
        token = core.administrators.create_sign_in_link(dana.id).token
    finally:
        core.storage.close()
    service = Service(storage, "--console")
    try:
        window = Window(browser, service.url, runs_scripts=True, is_phone=False, axe=None)
        window.open(f"/console/links/{token.reveal()}")
        window.press("Sign in")
        yield window
    finally:
        service.kill()


def test_take_the_pictures(window: Window, tmp_path: Path) -> None:
    _take(window, "fields", LAPTOP)
    _take(window, "phone", PHONE, "dark")
    window.press("Preferred shop")
    _take(window, "field", LAPTOP)

    window.press("Content")
    window.paste("Content", EMAIL_SOURCE)
    window.choose("App", of="Export for")
    window.press("Export")
    eventually(lambda: "Hamburg" in _frame_text(window))
    set_view(window.browser, LAPTOP, "light", height=800)
    assert window.browser.save_screenshot(PICTURES / "console-content.png")

    window.press("Settings")
    window.press("Create API key")
    window.fill("Name", "Checkout service")
    window.press("Create API key")
    _take(window, "api-keys", LAPTOP)

    report = tmp_path / "report.json"
    report.write_text(REPORT)
    window.press("Integrations")
    window.press("Main audience")
    window.fill("Report", str(report))
    window.press("Show the plan")
    _take(window, "integration", LAPTOP)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_take_the_overview(window: Window, storage: str, tmp_path: Path, scheme: str) -> None:
    """Store a picture of a request, its response, and the console with the new field."""
    response = subprocess.run(
        ["bash", "-euo", "pipefail", "-c", REQUEST],
        env={**os.environ, "URL": window.origin, "API_KEY": _issue_key(storage)},
        capture_output=True,
        text=True,
        check=True,
    )
    created = json.loads(response.stdout)["recipient_field"]
    window.press("Updated")
    assert created["name"] in window.browser.find_element(By.CSS_SELECTOR, "tbody tr").text
    _prepare(window.browser, CONSOLE_WIDTH, scheme, CONSOLE_HEIGHT, scale=2)
    text = html.escape(f"$ {REQUEST}\n{response.stdout.strip()}")
    overview = tmp_path / "overview.html"
    overview.write_text(
        OVERVIEW.replace("TEXT", text).replace("DATA", window.browser.get_screenshot_as_base64())
    )
    window.open(overview.as_uri())
    _prepare(window.browser, OVERVIEW_WIDTH, scheme, OVERVIEW_HEIGHT, scale=2)
    assert window.browser.save_screenshot(PICTURES / f"overview-{scheme}.png")


def _frame_text(window: Window) -> str:
    window.browser.switch_to.frame("preview")
    text = window.browser.find_element(By.TAG_NAME, "body").text
    window.browser.switch_to.default_content()
    return text


def _issue_key(storage: str) -> str:
    """Return a new API key of the only organization."""
    core = Core.over(open_storage(storage))
    try:
        (organization,) = core.administration.list_organizations()
        return core.administration.issue_key(organization.id, name="Backend").plain.reveal()
    finally:
        core.storage.close()


def _take(window: Window, name: str, width: int, scheme: str = "light") -> None:
    """Store a picture of the page, or of its upper part if it is long."""
    _prepare(window.browser, width, scheme, height=100)
    height = window.browser.execute_script("return document.documentElement.scrollHeight")
    set_view(window.browser, width, scheme, height=min(height, MAX_HEIGHT))
    assert window.browser.save_screenshot(PICTURES / f"console-{name}.png")


def _prepare(browser: Chrome, width: int, scheme: str, height: int, scale: int = 1) -> None:
    """Show the beginning of the page without a focus and scroll bars."""
    browser.execute_cdp_cmd("Emulation.setScrollbarsHidden", {"hidden": True})
    set_view(browser, width, scheme, height=height, scale=scale)
    browser.execute_script("document.activeElement.blur(); scrollTo(0, 0)")


def _fill(core: Core, clock: PastClock) -> OrganizationId:
    """Add an organization with fields of all origins, API keys and integrations."""
    organization_id = core.administration.create_organization("Acme Outdoor").id
    grant(administrators_of(core), organization_id, EMAIL)
    for days, channel, draft in FIELDS:
        clock.days = days
        core.fields.by(Author(channel)).create_field(organization_id, draft)
    for days, esp, name, reported in INTEGRATIONS:
        clock.days = days
        integration = core.integrations.create_integration(organization_id, esp=esp, name=name)
        names = {key: SetName(name) for key, name in NAMES.get(esp, {}).items()}
        core.integrations.set_names(organization_id, integration.id, names)
        core.integrations.sync_fields(organization_id, integration.id, reported)
    for days, name, access, lifetime in KEYS:
        clock.days = days
        core.administration.by(Author(ADMINISTRATOR, name=EMAIL)).issue_key(
            organization_id,
            name=name,
            access=access,
            lifetime=None if lifetime is None else timedelta(days=lifetime),
        )
    clock.days = 0
    return organization_id


def _draft(name: str, data_type: DataType, values: tuple[object, ...] = ()) -> FieldDraft:
    allowed = AllowedValues(data_type, values) if values else None
    return FieldDraft(name=name, data_type=data_type, allowed_values=allowed)


FIELDS = (
    (1, API, _draft("Abandoned cart value", DataType.NUMBER)),
    (4, ADMINISTRATOR, _draft("Country", DataType.TEXT, ("DE", "FR", "AT", "CH", "IT", "NL"))),
    (2, API, evolve(_draft("Email consent", DataType.BOOLEAN), insertable=False)),
    (0.1, API, _draft("Last order", DataType.DATETIME)),
    (41, ADMINISTRATOR, _draft("Newsletter frequency", DataType.TEXT, ("daily", "weekly"))),
    (15, API, _draft("Preferred language", DataType.TEXT, ("de", "en", "fr", "it"))),
    (0.2, ADMINISTRATOR, _draft("Preferred shop", DataType.TEXT, ("Hamburg", "Lyon", "Zurich"))),
    (8, ADMINISTRATOR, _draft("Shoe size", DataType.NUMBER, (*range(36, 49),))),
)
INTEGRATIONS = (
    (
        2,
        Esp("mailchimp"),
        "Main audience",
        [
            EspField(name="FNAME", label="First name", data_type=DataType.TEXT),
            EspField(name="LNAME", label="Last name", data_type=DataType.TEXT),
            EspField(name="BIRTHDAY", label="Birthday", data_type=DataType.DATE),
            EspField(name="STORE", label="Store", data_type=DataType.TEXT),
        ],
    ),
    (
        0.5,
        Esp("braze"),
        "App",
        [
            EspField(name="preferred_shop", data_type=DataType.TEXT),
            EspField(name="renewal_date", label="Renewal date", data_type=DataType.DATE),
        ],
    ),
)
NAMES = {Esp("mailchimp"): {"preferred_shop": "STORE"}}
KEYS = (
    (20, "Nightly export", Access.READ_ONLY, 90),
    (82, "Reporting", Access.READ_ONLY, 90),
    (120, "Data warehouse", Access.READ_WRITE, None),
)
REPORT = """{"fields": [
  {"name": "FNAME", "label": "First name", "data_type": "text"},
  {"name": "BIRTHDAY", "label": "Date of birth", "data_type": "date"},
  {"name": "TIER", "label": "Loyalty tier", "data_type": "text"},
  {"name": "STORE", "label": "Store", "data_type": "text"}
]}"""
