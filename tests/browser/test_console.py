"""The console in a browser: every page and flow, with and without scripts.

Each flow runs in four windows: a laptop's and a phone's, with and without scripts. Two of them also
audit every page of the flow: with scripts from 320 to 2,560 pixels, in both colour schemes and with
forced colours.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from time import sleep
from typing import Any

import pytest
from attrs import frozen
from cryptography.fernet import Fernet
from selenium.webdriver import Chrome, Keys
from selenium.webdriver.common.by import By

from recipient_fields.application import Core
from recipient_fields.domain import (
    ADMINISTRATOR,
    AllowedValues,
    Author,
    DataType,
    FieldChanges,
    FieldDraft,
    FieldId,
    Organization,
    Role,
)
from recipient_fields.domain.esp import Esp
from recipient_fields.domain.integrations import EspField
from recipient_fields.entrypoints.service.selection import migrate_storage, open_core
from recipient_fields.testing.examples import grant

from ..adapters.esp.accounts import BREVO, SECRET
from ..support.administrators import administrators_of
from ..support.command_line import CommandLine
from ..support.esp_account import KEY, OTHER_KEY, Braze, braze_accounts
from ..support.http_server import ReceivedRequest, Reply, StubResponse, StubServer, stub_server
from ..support.service import FIELDS, Service
from ..support.waiting import eventually
from .conftest import chromium
from .page_audit import LAPTOP, install_axe, set_view
from .window import Window

PASSWORD = "four random words"


@pytest.fixture(scope="session")
def axe() -> str:
    return install_axe()


@pytest.fixture(scope="module")
def storage(tmp_path_factory: pytest.TempPathFactory) -> str:
    url = f"sqlite:{tmp_path_factory.mktemp('storage') / 'fields.db'}"
    migrate_storage(url)
    return url


@pytest.fixture(scope="module")
def core(storage: str) -> Iterator[Core]:
    """Return the core of this process, on the storage of the service."""
    core = open_core(storage)
    yield core
    core.storage.close()


@pytest.fixture(scope="module")
def brevo() -> Iterator[StubServer]:
    """Return the API of Brevo, which takes longer than a second for each response."""

    def slow(request: ReceivedRequest) -> Reply:
        sleep(1.2)
        return BREVO.handler(request)

    with stub_server(slow) as server:
        yield server


@pytest.fixture(scope="module")
def braze() -> Iterator[Braze]:
    with braze_accounts({}) as accounts:
        yield accounts


@pytest.fixture(scope="module")
def connecting(braze: Braze) -> dict[str, str]:
    """Return the variables with which a process can store and use credentials."""
    return {
        "RECIPIENT_FIELDS_SECRETS_KEY": Fernet.generate_key().decode(),
        "RECIPIENT_FIELDS_ESP_HOSTS": braze.host,
    }


@pytest.fixture(scope="module")
def service(storage: str, brevo: StubServer, connecting: dict[str, str]) -> Iterator[Service]:
    """Return the service, which has the credentials of one ESP."""
    credentials = {"BREVO_API_KEY": SECRET, "BREVO_URL": brevo.url}
    environment = {f"RECIPIENT_FIELDS_{name}": text for name, text in credentials.items()}
    environment |= connecting
    every_organization = ",".join(map(str, range(1, 1_000)))
    options = ("--console", "--esp-organizations", every_organization)
    service = Service(storage, *options, prefix=(), **environment)
    try:
        yield service
    finally:
        service.kill()


@pytest.fixture(scope="module", params=[True, False], ids=["scripts", "no-scripts"])
def any_browser(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[Chrome, bool]]:
    profile = tmp_path_factory.mktemp("browser") / "profile"
    with chromium(profile, runs_scripts=request.param) as browser:
        yield browser, request.param


@pytest.fixture(params=[False, True], ids=["laptop", "phone"])
def window(
    request: pytest.FixtureRequest, service: Service, any_browser: tuple[Chrome, bool], axe: str
) -> Window:
    """Return a window that is not signed in."""
    browser, runs_scripts = any_browser
    audits = runs_scripts is not request.param
    window = Window(browser, service.url, runs_scripts, request.param, axe if audits else None)
    browser.execute_cdp_cmd("Network.clearBrowserCookies", {})
    browser.get_log("browser")
    browser.get_log("performance")
    window.restore_view()
    return window


@frozen
class Acme:
    """A new organization with an administrator, who is signed in to the window."""

    core: Core
    organization: Organization
    email: str
    window: Window

    @property
    def path(self) -> str:
        """The path of the organization's pages."""
        return f"/console/o/{self.organization.id}"

    def sign_in_elsewhere(self) -> None:
        """Begin another session of the administrator."""
        (administrator,) = self.core.administrators.list_administrators(self.organization.id)
        token = self.core.administrators.create_sign_in_link(administrator.id).token
        self.core.administrators.sign_in_with_link(token.reveal(), user_agent="Firefox/146 Linux")

    def sign_in_again(self) -> None:
        """Begin another session of the administrator in the window."""
        (administrator,) = self.core.administrators.list_administrators(self.organization.id)
        token = self.core.administrators.create_sign_in_link(administrator.id).token
        self.window.open(f"/console/links/{token.reveal()}")
        self.window.press("Sign in")

    def set_password(self) -> None:
        """Set the password of the administrator, which begins another session."""
        token = self.core.administrators.reset(self.email).token
        self.window.open(f"/console/links/{token.reveal()}")
        self.window.fill("New password", PASSWORD)
        self.window.press("Set password and sign in")

    def end_sessions(self) -> None:
        """End all sessions of the administrator."""
        (administrator,) = self.core.administrators.list_administrators(self.organization.id)
        self.core.administrators.end_all_sessions(administrator.id)

    def add_field(self, name: str, **members: Any) -> FieldId:
        """Create a manual field, and return its id."""
        draft = FieldDraft(name=name, **{"data_type": DataType.TEXT, **members})
        fields = self.core.fields.by(Author(ADMINISTRATOR))
        return fields.create_field(self.organization.id, draft).id


@pytest.fixture
def acme(core: Core, window: Window) -> Acme:
    organization = core.administration.create_organization("Acme Outdoor")
    email = f"dana@acme-{organization.id}.example"
    administrator = grant(administrators_of(core), organization.id, email)
    token = core.administrators.create_sign_in_link(administrator.id).token
    window.open(f"/console/links/{token.reveal()}")
    window.press("Sign in")
    assert window.heading == "Fields"
    return Acme(core, organization, email, window)


def test_an_invited_administrator_sets_a_password_signs_out_and_signs_in(
    core: Core, storage: str, service: Service, window: Window
) -> None:
    organization = core.administration.create_organization("Acme Outdoor")
    email = f"kim@acme-{organization.id}.example"
    link = _invite(storage, service, organization, email)

    window.open(link)
    assert window.heading == "Accept your invitation"
    assert f"Acme Outdoor invites {email}" in window.text
    window.audit()
    window.fill("Password", email)
    window.press("Accept and sign in")
    assert "The invitation was not accepted" in window.text
    window.audit()
    window.fill("Password", PASSWORD)
    window.press("Accept and sign in")
    assert "You have accepted the invitation." in window.text
    assert "Acme Outdoor has no fields yet" in window.text
    window.audit()

    window.press("Sign out")
    window.open(link)
    assert window.heading == "This link does not work"
    window.audit()
    window.open("/console")
    assert window.heading == "Sign in"
    window.audit()
    window.fill("Email address", email)
    window.fill("Password", "not the password")
    window.press("Sign in")
    assert "The email address or the password is not correct." in window.text
    assert window.value("Email address") == email
    window.audit()
    window.fill("Password", PASSWORD)
    window.press("Sign in")
    assert window.heading == "Fields"

    window.open(link)
    assert window.heading == "Fields"
    assert "You are signed in. The link was used already or has expired." in window.text
    window.open("/console/o/999999/fields")
    assert window.heading == "There is no such page"
    window.audit()


def test_an_administrator_corrects_and_creates_a_field(acme: Acme, window: Window) -> None:
    acme.add_field("City")
    window.open(f"{acme.path}/fields")
    window.press("New manual field")
    window.audit()

    window.fill("Name", "Shoe size")
    if window.runs_scripts:
        assert "Content calls it {{recipient.shoe_size}}." in window.text
    window.find("details > summary").click()
    window.fill("Key", "Shoe Size")
    window.choose("Number")
    window.press("Add a value")
    window.fill("Value 1", "42")
    window.press("Add a value")
    window.fill("Value 2", "large")
    window.press("Create field")
    assert "The field was not created" in window.text
    assert (window.value("Name"), window.value("Value 2")) == ("Shoe size", "large")
    window.audit()

    window.press("Use this key")
    assert window.value("Key") == "shoe_size"
    window.fill("Value 2", "42.5")
    window.press("Create field")
    assert "The field Shoe size was created." in window.text
    assert "42.5" in window.text
    window.audit()


def test_enter_in_an_allowed_value_adds_a_value(acme: Acme, window: Window) -> None:
    window.open(f"{acme.path}/fields/new")
    window.fill("Name", "Tier")
    window.press("Add a value")
    for number, value in enumerate(("gold", "silver"), 2):
        window.type(value)
        window.press_enter()
        assert window.focused == f"Value {number}"
        assert window.value(f"Value {number}") == ""
    window.fill("Name", "Level")
    assert acme.core.fields.list_fields(acme.organization.id).fields == ()

    window.press_enter()
    if not window.runs_scripts:  # Then Enter does the same in each text box.
        assert window.value("Name") == "Level"
        window.press("Create field")
    assert "The field Level was created." in window.text
    (field,) = acme.core.fields.list_fields(acme.organization.id).fields
    assert field.allowed_values is not None
    assert field.allowed_values.values == ("gold", "silver")


def test_allowed_values_are_edited_as_a_list(acme: Acme, window: Window) -> None:
    values = AllowedValues(DataType.TEXT, ["gold", "silver", "bronze"])
    field = acme.add_field("Tier", allowed_values=values)
    window.open(f"{acme.path}/fields/{field}")
    window.press("Edit field")
    window.audit()

    window.press("Move value 3 up")
    window.press("Remove value 1")
    assert (window.value("Value 1"), window.value("Value 2")) == ("bronze", "silver")
    window.press("Paste a list")
    window.audit()
    window.fill("Values, one per line", "basic\nnone")
    window.press("Add these values")
    window.press("Save changes")

    assert "The field Tier was changed." in window.text
    (stored,) = acme.core.fields.list_fields(acme.organization.id).fields
    assert stored.allowed_values is not None
    assert stored.allowed_values.values == ("bronze", "silver", "basic", "none")


def test_a_concurrent_change_is_shown_and_not_overwritten(acme: Acme, window: Window) -> None:
    field = acme.add_field("Shoe size")
    window.open(f"{acme.path}/fields/{field}/edit")
    window.fill("Name", "Size of shoes")
    fields = acme.core.fields.by(Author(ADMINISTRATOR))
    fields.update_field(acme.organization.id, field, FieldChanges(name="EU shoe size"))

    window.press("Save changes")
    assert "Another administrator changed this field" in window.text
    assert "EU shoe size" in window.text
    assert window.value("Name") == "Size of shoes"
    assert fields.get_field(acme.organization.id, field).name == "EU shoe size"
    window.audit()
    window.press("Save changes")
    assert window.heading == "Size of shoes"


def test_a_field_is_deleted_after_one_confirmation(acme: Acme, window: Window) -> None:
    field = acme.add_field("Shoe size")
    window.open(f"{acme.path}/fields/{field}")
    window.press("Delete field")
    assert window.heading == "Delete the field Shoe size?"
    window.audit()
    window.press("Keep field")
    window.press("Delete field")
    window.press("Delete field")
    assert "The field Shoe size was deleted." in window.text
    window.audit()
    window.press("Undo")
    assert "The field Shoe size was restored." in window.text
    assert window.heading == "Shoe size"


def test_changes_are_listed_and_a_deleted_field_is_restored(acme: Acme, window: Window) -> None:
    window.press("History")
    assert "No changes are recorded yet" in window.text
    window.audit()
    values = AllowedValues(DataType.TEXT, ["gold", "silver"])
    field = acme.add_field("Tier", allowed_values=values)
    fields = acme.core.fields.by(Author(ADMINISTRATOR, name="operator"))
    changes = FieldChanges(name="Level", allowed_values=["silver", "bronze"])
    fields.update_field(acme.organization.id, field, changes)
    window.open(f"{acme.path}/fields/{field}")
    assert "Name: Tier → Level" in window.text
    assert "Allowed values: added bronze; removed gold" in window.text
    window.audit()
    fields.delete_field(acme.organization.id, field)

    window.press("History")
    window.audit()
    window.fill("Key", "tie")
    window.press("Apply")
    assert "No change matches these filters" in window.text
    window.audit()
    window.fill("Key", "tier")
    window.choose("Deleted", of="Change")
    window.press("Apply")
    window.press("Level")
    assert "operator deleted this field on" in window.text
    window.audit()
    window.press("Restore field")
    assert "The field Level was restored." in window.text
    assert window.heading == "Level"


def test_fields_are_searched_filtered_and_sorted(acme: Acme, window: Window) -> None:
    acme.add_field("Shoe size", data_type=DataType.NUMBER)
    acme.add_field("City")
    _add_synced_field(acme)
    window.open(f"{acme.path}/fields")
    assert "3 fields" in window.text
    window.audit()

    window.fill("Search", "nothing like it")
    _apply(window, "No field matches")
    window.audit()
    window.press("Clear the filters")
    window.choose("Integration", of="Origin")
    _apply(window, "1 field")
    window.press("First name")
    assert window.heading == "First name"
    assert not window.has("Edit field")
    window.audit()
    assert "Mailchimp" in window.text


def test_the_example_conditions_of_a_field_are_opened(acme: Acme, window: Window) -> None:
    field = acme.add_field("Newsletter", data_type=DataType.BOOLEAN)
    window.open(f"{acme.path}/fields/{field}")
    assert "Mailchimp has no boolean fields." not in window.text

    window.find("details:not([open]) > summary").click()
    window.find("details:not([open]) > summary").click()
    assert "{% if contact.newsletter" in window.text
    window.audit()


def test_a_field_is_created_and_its_reference_copied_with_four_clicks(
    acme: Acme, window: Window
) -> None:
    window.clicks = 0
    window.press("New manual field")
    window.fill("Name", "Loyalty tier")
    window.press("Create field")
    assert "{{recipient.loyalty_tier}}" in window.text
    if window.runs_scripts:
        copy = window.find("[data-copies=reference]")
        window.click(copy.accessible_name)
        eventually(lambda: copy.text == "Copied")
    assert window.clicks <= 4


def test_a_deletion_is_undone_with_two_clicks(acme: Acme, window: Window) -> None:
    field = acme.add_field("Shoe size")
    window.open(f"{acme.path}/fields/{field}/delete")
    window.press("Delete field")
    window.clicks = 0
    window.press("Undo")
    assert window.heading == "Shoe size"
    assert window.clicks <= 2


LOOP = "{{#each event.items as item}}{{item.name}}{{/each}}"
STORY_WITH_A_LOOP = (
    f'{{{{#if recipient.loyalty_tier = "gold"}}}}Thank you!{{{{else}}}}{{{{/if}}}}{LOOP}'
)


def test_an_email_for_two_esps_is_exported_with_eight_clicks(acme: Acme, window: Window) -> None:
    _add_two_integrations(acme)
    window.open(f"{acme.path}/fields")
    window.clicks = 0
    window.press("Content")
    if window.runs_scripts:
        window.click("Insert")
        window.click("If Loyalty tier…")
        window.type("Thank you!", Keys.CONTROL, Keys.END, Keys.NULL)
        window.click("Insert")
        window.click(f"Loop over data of the event {LOOP}")
        assert window.value("Content") == STORY_WITH_A_LOOP
    else:
        window.fill("Content", STORY_WITH_A_LOOP)
    window.choose("All integrations", of="Export for")
    window.press("Export")
    window.clicks += 1
    window.find("#result label ~ label").click()
    assert window.find("#result label ~ label + div textarea").is_displayed()
    assert "{% for item in event|lookup:'items' %}" in _shown_export(window)
    assert window.clicks <= 8


def test_an_email_for_two_esps_is_exported_with_the_keyboard_only(
    acme: Acme, window: Window
) -> None:
    _add_two_integrations(acme)
    window.open(f"{acme.path}/fields")
    window.tab_to("Content")
    window.press_enter()
    if window.runs_scripts:
        window.tab_to("Insert")
        window.type(Keys.ENTER)
        window.tab_to("If Loyalty tier…")
        window.type(Keys.ENTER)
        window.type("Thank you!", Keys.CONTROL, Keys.END, Keys.NULL)
        window.tab_to("Insert", backwards=True)
        window.type(Keys.ENTER)
        window.tab_to(f"Loop over data of the event {LOOP}")
        window.type(Keys.ENTER)
    else:
        window.tab_to("Export for")
        window.tab_to("Content")
        window.type(STORY_WITH_A_LOOP)
    assert window.value("Content") == STORY_WITH_A_LOOP
    window.tab_to("Export for", backwards=True)
    window.type("All integrations")
    window.tab_to("Export")
    window.press_enter()
    first = window.find("#result [name=tab]")
    window.tab_to(first.accessible_name)
    window.type(Keys.ARROW_RIGHT)
    second = window.browser.switch_to.active_element
    assert second != first
    assert "{% for item in event|lookup:'items' %}" in _shown_export(window)
    action = "Copy" if window.runs_scripts else "Download"
    window.tab_to(f"{action} the content for {second.accessible_name}")


def _shown_export(window: Window) -> str:
    (shown,) = (
        each
        for each in window.browser.find_elements(By.CSS_SELECTOR, "#result textarea[readonly]")
        if each.is_displayed()
    )
    return str(shown.get_property("value"))


def _add_two_integrations(acme: Acme) -> None:
    values = AllowedValues(DataType.TEXT, ["gold", "silver"])
    acme.add_field("Loyalty tier", allowed_values=values)
    for esp in ("braze", "klaviyo"):
        acme.core.integrations.create_integration(
            acme.organization.id, esp=Esp(esp), name=f"Our {esp}"
        )


def test_content_is_exported_and_previewed(acme: Acme, window: Window) -> None:
    _add_synced_field(acme)
    window.press("Content")
    window.audit()
    window.fill("Content", "Hello {{recipient.fnam}}")
    window.choose("Main audience", of="Export for")
    window.press("Export")
    assert "The content was not exported: correct 1 place" in window.text
    assert "Did you mean fname?" in window.text
    assert _is_in_view(window, "#places-title")
    window.audit()
    if window.runs_scripts:
        window.find("[data-line]").click()
        assert _selected(window) == "Hello {{recipient.fnam}}"

    window.fill("Content", "Hello {{recipient.fname}},\n{{recipients.fname}}")
    window.press("Export")
    assert "Line 2: This looks like a reference" in window.text
    window.press("Export anyway")
    assert window.find("#result textarea").text == "Hello *|FNAME|*,\n{{recipients.fname}}"
    assert _is_in_view(window, "#result")
    assert _preview(window).startswith("Hello First name,")
    window.audit()
    window.find(".preview-panel details summary").click()
    window.fill("First name", "Ada\t")
    assert _preview(window, "Hello Ada,").startswith("Hello Ada,")
    window.audit()
    if window.runs_scripts:
        copy = window.find("[data-copies]")
        copy.click()
        eventually(lambda: copy.text == "Copied")
        assert window.browser.switch_to.active_element.tag_name == "button"


def test_source_and_result_are_in_view_together(acme: Acme, window: Window) -> None:
    _add_synced_field(acme)
    window.open(f"{acme.path}/content")
    window.fill("Content", "<p>Hello {{recipient.fname}}</p>")
    if not window.is_phone:
        set_view(window.browser, LAPTOP, "light", height=800)

    window.press("Export")

    assert _is_in_view(window, "#result textarea")
    if window.is_phone:
        assert not _is_in_view(window, "#content")
    else:
        for each in ("#content", ".editor .primary", "iframe"):
            assert _is_in_view(window, each)
        assert _preview(window) == "Hello First name"
        assert _is_in_view(window, "#content")
    if window.runs_scripts:
        assert window.browser.switch_to.active_element.get_attribute("id") == "result"


def test_codes_are_inserted_from_the_menu(acme: Acme, window: Window) -> None:
    values = AllowedValues(DataType.TEXT, ["gold", "silver"])
    acme.add_field("Loyalty tier", allowed_values=values)
    acme.add_field("City")
    window.open(f"{acme.path}/content")
    window.find(".insert summary").click()
    window.audit()
    if not window.runs_scripts:
        assert "City {{recipient.city}} text" in window.text
        window.fill("Search fields", "loyal")
        window.press("Search")
        assert "{{recipient.loyalty_tier}}" in window.text
        assert "{{recipient.city}}" not in window.text
        return

    # Keyboard only: search, Enter, and the condition around the selection. The browser notes that
    # the menu is open after the click, and then the search gets the focus.
    eventually(lambda: window.browser.switch_to.active_element.get_attribute("name") == "find")
    window.type("loyal", Keys.ENTER)
    assert window.value("Content") == "{{recipient.loyalty_tier}}"
    window.type(Keys.SHIFT, Keys.HOME, Keys.NULL)
    window.find(".insert summary").click()
    window.find("button[aria-label='If Loyalty tier…']").click()
    assert window.value("Content") == (
        '{{#if recipient.loyalty_tier = "gold"}}{{recipient.loyalty_tier}}{{else}}{{/if}}'
    )
    window.find(".insert summary").click()
    window.type(Keys.ESCAPE)
    assert window.find(".insert").get_property("open") is False
    assert window.find("#content").get_attribute("value") == window.value("Content")


def test_what_was_typed_is_kept_for_its_author_only(acme: Acme, window: Window) -> None:
    if not window.runs_scripts:
        window.open(f"{acme.path}/content")
        assert window.has("Clear")
        return
    window.open(f"{acme.path}/content")
    window.fill("Content", "Hello")
    window.choose("Braze", of="Export for")
    window.open(f"{acme.path}/fields")
    window.press("Content")
    assert (window.value("Content"), window.value("Export for")) == ("Hello", "braze")

    window.press("Sign out")
    acme.sign_in_again()
    window.open(f"{acme.path}/content")
    assert window.value("Content") == "Hello"
    window.press("Clear")
    assert window.value("Content") == ""
    window.open(f"{acme.path}/content")
    assert window.value("Content") == ""

    window.fill("Content", "Secret")
    (dana,) = acme.core.administrators.list_administrators(acme.organization.id)
    back = acme.core.administrators.create_sign_in_link(dana.id).token
    other = grant(administrators_of(acme.core), acme.organization.id, f"eve-{acme.email}")
    window.press("Sign out")
    token = acme.core.administrators.create_sign_in_link(other.id).token
    window.open(f"/console/links/{token.reveal()}")
    window.press("Sign in")
    stored = "return JSON.stringify(localStorage)"
    assert "Secret" not in window.browser.execute_script(stored)
    window.open(f"{acme.path}/content")
    assert window.value("Content") == ""
    window.press("Sign out")
    window.open(f"/console/links/{back.reveal()}")
    window.press("Sign in")
    window.open(f"{acme.path}/content")
    assert window.value("Content") == ""


def test_another_example_shows_the_next_branch(acme: Acme, window: Window) -> None:
    acme.add_field("Points", data_type=DataType.NUMBER)
    window.open(f"{acme.path}/content")
    window.fill("Content", "{{#if recipient.points > 9}}many{{else}}few{{/if}}")
    window.choose("Braze", of="Export for")
    window.press("Export")
    assert _preview(window) == "few"
    window.press("Another example")
    assert _preview(window) == "many"
    assert window.value("Points") == "10"


REQUESTS = {
    "script": '<script src="URL"></script><script>new Image().src = "URL"; parent.x = 1</script>',
    "event": "<p onmouseover=\"fetch('URL')\">x</p><body onload=\"location='URL'\">",
    "meta": '<meta http-equiv="refresh" content="0;url=URL">',
    "base": '<base href="URL"><img src="a.png"><a href="b" id="link">x</a>',
    "link": '<link rel="stylesheet" href="URL"><link rel="preconnect" href="URL">'
    '<link rel="dns-prefetch" href="URL"><link rel="prefetch" href="URL">',
    "anchor": '<a href="URL" ping="URL" target="_top" id="link">x</a>',
    "area": '<map name="m"><area href="URL" shape="default"></map><img usemap="#m" src="URL">',
    "image": '<img src="URL" srcset="URL 2x" alt="x"><picture><source srcset="URL"></picture>',
    "background": '<table background="URL"><tr><td background="URL">x</td></tr></table>',
    "css": '<style>@import "URL"; @import url(URL); p { background: url(URL) }'
    ' @font-face { font-family: a; src: url("URL") } p { font-family: a;'
    ' list-style-image: image-set("URL" 1x); cursor: u\\72l(URL) }</style><p>x</p>',
    "style": '<p style="background: url(URL); border-image: URL(URL)">x</p>',
    "end of style": '<style></style x><img src="URL">'
    '<style>p{}</style/><script src="URL"></script>',
    "svg": '<svg><image href="URL"/><use href="URL#a"/><style>@import "URL"</style>'
    '<script href="URL"></script><animate onbegin="fetch(\'URL\')"/></svg>',
    "form": '<form action="URL"><button id="link">x</button><input type="image" src="URL"></form>',
    "media": '<video src="URL" poster="URL" autoplay></video><audio src="URL" autoplay></audio>',
    "frame": '<iframe src="URL"></iframe><iframe srcdoc="<img src=URL>"></iframe>'
    '<object data="URL"></object><embed src="URL">',
    "quotes": '<p title="a\'><img src=URL>">x</p><a "><img src="URL">',
    "comment": '<!--><img src="URL">--><!-- > --!><img src="URL"><![CDATA[<img src="URL">]]>',
}
"""HTML that makes a browser send requests, or changes pages, if nothing prevents it."""


@pytest.mark.parametrize("window", [False], indirect=True, ids=["laptop"])
@pytest.mark.parametrize("html", REQUESTS.values(), ids=list(REQUESTS))
def test_the_preview_makes_no_requests(acme: Acme, window: Window, html: str) -> None:
    with stub_server(lambda _: StubResponse(200)) as server:
        window.open(f"{acme.path}/content")
        window.paste("Content", f"<p>Start</p>{html.replace('URL', server.url + '/x')}")
        window.choose("Braze", of="Export for")
        window.press("Export")
        if window.has("Export anyway"):
            window.press("Export anyway")
        assert _preview(window).startswith("Start")
        window.browser.switch_to.frame("preview")
        for each in window.browser.find_elements(By.CSS_SELECTOR, "#link, p"):
            each.click()
        sleep(0.2)
        window.browser.switch_to.default_content()

        assert server.connections == 0
    assert window.path == f"{acme.path}/content"
    assert window.browser.window_handles == [window.browser.current_window_handle]
    assert window.messages() == []


def _preview(window: Window, start: str = "") -> str:
    """Return the text in the frame, once it is loaded and has this start."""
    if not window.runs_scripts:
        window.find("[data-previews]").click()

    def read() -> str:
        window.browser.switch_to.frame("preview")
        text = window.browser.find_element(By.TAG_NAME, "body").text
        window.browser.switch_to.default_content()
        return text

    eventually(lambda: read() != "" and read().startswith(start))
    return read()


def _selected(window: Window) -> str:
    area = "document.activeElement"
    selected = f"return {area}.value.slice({area}.selectionStart, {area}.selectionEnd)"
    return str(window.browser.execute_script(selected))


def _is_in_view(window: Window, selector: str) -> bool:
    """Return whether the beginning of the element is in the window."""
    script = """const {top, height} = document.querySelector(arguments[0]).getBoundingClientRect();
    return top >= 0 && top + Math.min(height, 60) <= innerHeight"""
    return bool(window.browser.execute_script(script, selector))


STORY = '{{recipient.loyalty_tier}}{{#if recipient.shop = "Berlin"}}!{{/if}}'
AT_ESPS = {
    Esp("braze"): ("loyalty_tier", "shop"),
    Esp("klaviyo"): ("Loyalty Tier", "Shop"),
    Esp("mailchimp"): ("TIER", "SHOP"),
    Esp("sfmc"): ("Loyalty Tier", "Shop"),
}
"""What each ESP calls the two fields of the story."""


@pytest.mark.parametrize("definition_first", [True, False])
def test_one_content_is_exported_for_four_esps_before_and_after_the_syncs(
    acme: Acme, window: Window, definition_first: bool
) -> None:
    organization_id, integrations = acme.organization.id, acme.core.integrations
    ids = {
        esp: integrations.create_integration(organization_id, esp=esp, name=esp).id
        for esp in AT_ESPS
    }

    def sync() -> None:
        for esp, names in AT_ESPS.items():
            fields = [EspField(name=name, data_type=DataType.TEXT) for name in names]
            integrations.sync_fields(organization_id, ids[esp], fields)

    def exported() -> dict[Esp, str]:
        window.open(f"{acme.path}/content")
        window.fill("Content", STORY)
        window.choose("All integrations", of="Export for")
        window.press("Export")
        texts = {}
        for esp, integration_id in ids.items():
            window.find(f"label[for=tab-{integration_id}]").click()
            texts[esp] = window.find(f"#exported-{integration_id}").text
        window.audit()
        return texts

    if definition_first:
        draft = FieldDraft(name="Loyalty tier", data_type=DataType.TEXT)
        acme.core.fields.create_field(organization_id, draft)
        acme.add_field("Shop")
    else:
        sync()
    window.open(f"{acme.path}/settings/integrations/{ids[Esp('mailchimp')]}/names")
    window.fill("Key of the field", "loyalty_tier")
    window.fill("Name in Mailchimp", "TIER")
    window.press("Set name")
    assert "The name of loyalty_tier at mailchimp was set to TIER." in window.text
    window.audit()
    before = exported()
    if definition_first:
        assert before[Esp("klaviyo")].startswith("{{ person|lookup:'loyalty_tier'")
    sync()
    after = exported()

    assert after[Esp("braze")].startswith(
        "{{custom_attribute.${loyalty_tier}}}{% if custom_attribute"
    )
    assert after[Esp("klaviyo")].startswith("{{ person|lookup:'Loyalty Tier'")
    assert after[Esp("mailchimp")] == "*|TIER|**|IF:SHOP=Berlin|*!*|END:IF|*"
    assert after[Esp("sfmc")].startswith('%%[ SET @Loyalty_Tier = AttributeValue("Loyalty Tier"')
    if not definition_first:
        assert before == after
    window.open(f"{acme.path}/fields")
    assert "At Braze, Klaviyo, Mailchimp, Salesforce" in window.text or not definition_first
    window.audit()


def test_a_key_is_shown_once_rotated_and_revoked(
    acme: Acme, window: Window, service: Service
) -> None:
    window.press("Settings")
    assert "Acme Outdoor has no API keys yet" in window.text
    window.audit()
    window.press("Create API key")
    window.audit()
    window.fill("Name", " ")
    window.choose("Never")
    window.press("Create API key")
    assert "The key was not created" in window.text
    window.audit()

    window.fill("Name", "Checkout service")
    window.press("Create API key")
    key = window.find("#secret").text
    assert service.client(key).create(name="City").status == 201
    assert window.has("Copy key") is window.runs_scripts
    if window.runs_scripts:
        copy = window.find("[data-copies]")
        copy.click()
        eventually(lambda: copy.text == "Copied")
    window.audit()
    window.reload()
    assert "Checkout service" in window.text
    assert key not in window.browser.page_source

    window.press("Rotate Checkout service")
    window.audit()
    window.choose("After 1 hour")
    window.press("Rotate key")
    successor = window.find("#secret").text
    assert [service.client(each).fields()[0]["name"] for each in (key, successor)] == ["City"] * 2
    window.audit()
    window.press("Revoke Checkout service")
    window.audit()
    window.press("Revoke key")
    assert "The key Checkout service was revoked." in window.text
    statuses = {service.client(each)("GET", FIELDS).status for each in (key, successor)}
    assert statuses == {200, 401}
    window.audit()


def test_a_list_with_a_column_of_addresses_is_checked_with_three_clicks(
    acme: Acme, window: Window, tmp_path: Path
) -> None:
    acme.add_field("City")
    path = tmp_path / "list.csv"
    path.write_text("email,city\na@example.com,Berlin\n")
    window.open(f"{acme.path}/fields")
    window.clicks = 0
    window.press("Check a list")
    window.fill("File", str(path))
    _press_in_list(window, "Check", "Checked 1 recipient: 1 valid, 0 invalid.")
    assert "These columns are not recipient fields: email." in window.text
    assert window.clicks <= 3


def test_a_list_is_checked(acme: Acme, window: Window, tmp_path: Path) -> None:
    acme.add_field("City")
    acme.add_field("Points", data_type=DataType.NUMBER)
    path = tmp_path / "list.csv"
    path.write_text("email;city;points\na@example.com;Berlin;1,5\nb@example.com;Paris\n")
    window.open(f"{acme.path}/fields")
    window.press("Check a list")
    assert window.heading == "Check a list"
    window.audit()
    window.fill("File", str(path))
    _press_in_list(window, "Check", "Checked 2 recipients: 0 valid, 2 invalid.")
    assert "These columns are not recipient fields: email." in window.text
    window.audit()

    if not window.runs_scripts:
        window.fill("File", str(path))
    _press_in_list(window, "Check with decimal commas", "Checked 2 recipients: 1 valid, 1 invalid.")
    assert window.find("#decimal-comma").is_selected()
    path.write_text("street\nx\n")
    window.fill("File", str(path))
    _press_in_list(window, "Check", "These columns are not recipient fields: street.")
    window.audit()


def _press_in_list(window: Window, button: str, text: str) -> None:
    """Press the button, and wait for the text. With scripts, the page stays."""
    if not window.runs_scripts:
        window.press(button)
    else:
        window.click(button)
        eventually(lambda: text in window.text)
    assert text in window.text


def test_an_integration_is_synced_from_a_report_and_deleted(
    acme: Acme, window: Window, tmp_path: Path
) -> None:
    window.open(f"{acme.path}/settings/integrations")
    assert "Acme Outdoor has no integrations yet" in window.text
    window.audit()
    window.press("Add integration")
    window.audit()
    window.fill("Name", " ")
    window.choose("Mailchimp", of="Email service provider")
    window.press("Add integration")
    assert "The integration was not created" in window.text
    window.audit()
    window.fill("Name", "Main audience")
    window.press("Add integration")
    assert window.heading == "Main audience"
    window.audit()

    window.fill("Report", _report(tmp_path, "FNAME", "CITY", "OLD"))
    window.press("Show the plan")
    assert "Nothing is stored yet" in window.text
    assert acme.core.fields.list_fields(acme.organization.id).fields == ()
    window.audit()
    window.press("Sync 3 changes")
    assert "Main audience was synced" in window.text
    assert len(acme.core.fields.list_fields(acme.organization.id).fields) == 3
    window.audit()

    window.press("Integrations")
    window.press("Main audience")
    window.fill("Report", _report(tmp_path, "FNAME", "CITY", "A" * 300, label="New label"))
    window.press("Show the plan")
    window.audit()
    window.press("Discard")
    window.press("Main audience")
    window.fill("Report", str(Path(__file__)))
    window.press("Show the plan")
    window.audit()

    window.press("Rename")
    window.audit()
    window.fill("Name", "Newsletter")
    window.press("Rename integration")
    window.press("Newsletter")
    window.press("Delete integration")
    window.audit()
    window.press("Delete integration and 3 fields")
    assert "Newsletter" in window.text
    assert acme.core.fields.list_fields(acme.organization.id).fields == ()


def test_a_mistaken_sync_is_confirmed_and_undone(
    acme: Acme, window: Window, tmp_path: Path
) -> None:
    stored = partial(acme.core.fields.list_fields, acme.organization.id)
    names = [f"F{number}" for number in range(50)]
    path = _add_integration(acme, *names, "FNAME")
    before = stored().fields
    key = f"city_{before[0].origin.integration_id}"

    def sync(*reported: str) -> None:
        window.open(path)
        window.fill("Report", _report(tmp_path, *reported))
        window.press("Show the plan")

    sync()
    assert "The report has no fields, so nothing was changed." in window.text
    assert "run the command integrations sync with --allow-empty" in window.text
    window.audit()

    sync("FNAME", "CITY")
    assert "Nothing is stored yet" in window.text
    text = window.text
    assert all(f"Remove {name.lower()} {name} " in text for name in names)
    assert stored().fields == before
    window.audit()
    window.fill("Name of the integration", "Main")
    window.press("Sync and remove 50 fields")
    assert "Name of the integration: Type Main audience" in window.text
    window.audit()

    acme.add_field("City")
    window.fill("Name of the integration", "Main audience")
    window.press("Sync and remove 50 fields")
    assert "The fields or the report have changed since the plan was shown." in window.text
    assert "Link city CITY to CITY" in window.text
    assert len(stored().fields) == 52
    window.audit()
    window.fill("Name of the integration", "Main audience")
    window.press("Sync and remove 50 fields")
    assert "Main audience was synced: 52 fields changed" in window.text
    assert {field.key for field in stored().fields} == {"fname", "city", key}
    window.audit()

    window.press("Restore removed fields")
    assert "50 fields removed on" in window.text
    window.audit()
    window.press("Restore 50 fields")
    assert "50 fields of Main audience were restored." in window.text
    assert {(field.id, field.key) for field in before} <= {(f.id, f.key) for f in stored().fields}
    window.press("Show or restore removed fields")
    assert "No field is removed" in window.text
    window.audit()


@pytest.mark.parametrize("removals", [0, 1, 9, 10, 50])
def test_a_sync_names_the_fields_that_it_would_remove(
    acme: Acme, window: Window, tmp_path: Path, removals: int
) -> None:
    stored = partial(acme.core.fields.list_fields, acme.organization.id)
    names = [f"F{number}" for number in range(removals)]
    window.open(_add_integration(acme, *names, "FNAME"))
    window.fill("Report", _report(tmp_path, "FNAME", "CITY"))
    window.press("Show the plan")
    if removals:
        count = "1 field" if removals == 1 else f"{removals} fields"
        text = window.text
        assert all(f"Remove {name.lower()} {name} " in text for name in names)
        assert len(stored().fields) == removals + 1
        if removals >= 10:
            window.fill("Name of the integration", " Main  audience ")
        window.press(f"Sync and remove {count}")
    else:
        window.press("Sync 2 changes")
    assert "Main audience was synced" in window.text
    assert {field.key for field in stored().fields} == {"fname", "city"}
    if removals == 1:
        window.open(f"{acme.path}/history?operation=deleted")
        window.press("F0")
        assert "The next sync removes it again" in window.text
        window.press("Restore field")
        assert "The field F0 was restored." in window.text
        window.audit()


def test_an_integration_is_synced_from_the_esp(acme: Acme, window: Window) -> None:
    window.open(f"{acme.path}/settings/integrations/new")
    window.fill("Name", "Newsletter")
    window.choose("Brevo", of="Email service provider")
    window.press("Add integration")
    assert "The server reads the fields with the credentials" in window.text
    window.audit()
    window.press("Integrations")
    assert "Not connected" not in window.text

    if window.runs_scripts:
        _audit_progress(window)
    _record_progress(window)
    window.press("Sync now of Newsletter")
    _assert_progress(window, "Reading the fields from Brevo")
    assert "Nothing is stored yet" in window.text
    assert "Brevo calculates it and does not list its type." in window.text
    assert acme.core.fields.list_fields(acme.organization.id).fields == ()
    window.audit()
    window.press("Sync 7 changes")
    assert "Newsletter was synced: 7 fields changed, 4 fields rejected." in window.text
    assert len(acme.core.fields.list_fields(acme.organization.id).fields) == 7


def test_the_names_of_an_integration_are_chosen_among_proposals(acme: Acme, window: Window) -> None:
    for name in ("Tier", "Shop size", "Points"):
        acme.add_field(name)
    organization_id, integrations = acme.organization.id, acme.core.integrations
    created = integrations.create_integration(organization_id, esp=Esp("braze"), name="App")
    reported = [EspField(name=name, data_type=DataType.TEXT) for name in ("tier", "ShopSize")]
    integrations.sync_fields(organization_id, created.id, reported)
    window.open(f"{acme.path}/settings/integrations/{created.id}")
    window.audit()
    window.choose("Shop size shop_size")
    window.press("Set the chosen names")
    assert "2 names at App were set." in window.text
    window.audit()
    names = integrations.get_integration(organization_id, created.id).names
    assert {each.name for each in names.values()} == {"tier", "ShopSize"}


def test_an_account_is_connected_and_synced_with_six_clicks(
    acme: Acme, window: Window, braze: Braze
) -> None:
    braze.names = {KEY: ["tier", "visits"]}
    path = _add_connectable(acme)
    window.open(path)
    window.audit()
    window.clicks = 0
    window.press("Connect")
    window.audit()
    window.fill("API key", KEY)
    window.fill("URL", braze.url)
    window.press("Test")
    assert "Braze accepts these credentials" in window.text
    window.audit()
    window.press("Save")
    assert f"end in {KEY[-4:]}" in window.text
    window.audit()
    window.press("Sync now")
    assert "Nothing is stored yet" in window.text
    window.press("Sync 2 changes")
    assert "App was synced: 2 fields changed" in window.text
    assert window.clicks <= 6
    assert KEY not in window.browser.page_source
    window.open(f"{path}/connect")
    window.fill("API key", "wrong-key-of-acme")
    window.press("Save")
    assert "Nothing was stored" in window.text
    window.audit()
    window.press("Cancel")
    window.choose("Daily", of="Interval")
    window.press("Set interval")
    assert "has another schedule" in window.text
    window.press("Disconnect")
    assert "was disconnected" in window.text


def test_a_waiting_removal_is_approved_with_two_clicks(
    acme: Acme,
    window: Window,
    braze: Braze,
    storage: str,
    connecting: dict[str, str],
) -> None:
    braze.names = {KEY: ["tier", "visits"], OTHER_KEY: ["plan", "seats"]}
    cli, path = CommandLine(storage), _add_connectable(acme)
    integration = path.rpartition("/")[2]

    def run(command: str, *options: str, **settings: str) -> int:
        ours = (integration, "--organization", str(acme.organization.id))
        return cli("integrations", command, *ours, *options, **connecting, **settings).status

    assert run("connect", "--set", f"url={braze.url}", stdin=f"{KEY}\n") == 0
    assert run("sync") == 0
    braze.names[KEY] = ["tier"]
    assert run("schedule", "--every", "daily") == 0
    assert cli("integrations", "sync-due", **connecting).status == 3
    window.open(f"{acme.path}/settings/integrations")
    window.audit()
    window.clicks = 0
    window.press("App")
    assert "1 removal to confirm" in window.text
    window.audit()
    window.press("Remove 1 field")
    assert "App was synced" in window.text
    assert window.clicks <= 2

    braze.names[KEY] = []
    window.open(f"{path}/connect")
    window.fill("API key", OTHER_KEY)
    window.press("Save")
    assert "The account has other fields than before: plan, seats." in window.text
    window.audit()


def _add_connectable(acme: Acme) -> str:
    """Add an integration whose account can be connected, and return the path of its page."""
    created = acme.core.integrations.create_integration(
        acme.organization.id, esp=Esp("braze"), name="App"
    )
    return f"{acme.path}/settings/integrations/{created.id}"


def test_an_administrator_invites_changes_and_revokes_another(acme: Acme, window: Window) -> None:
    email = f"kim@acme-{acme.organization.id}.example"
    window.open(f"{acme.path}/settings/administrators")
    window.audit()
    window.press("Invite person")
    window.audit()
    window.fill("Email address", email)
    window.choose("Viewer")
    window.press("Invite person")
    link = window.find("#secret").text
    window.audit()
    window.reload()
    assert link not in window.browser.page_source

    window.press(f"New link for {email}")
    window.audit()
    window.press("Create link")
    assert window.find("#secret").text != link
    window.press(f"Withdraw the invitation of {email}")
    window.audit()
    window.press("Withdraw invitation")
    assert not window.has(f"Withdraw the invitation of {email}")

    grant(administrators_of(acme.core), acme.organization.id, email, Role.VIEWER)
    window.open(f"{acme.path}/settings/administrators")
    window.press(f"Change role of {email}")
    window.audit()
    window.choose("Admin")
    window.press("Change role")
    window.press(f"New link of {email}")
    window.audit()
    window.press("Create link")
    assert "It sets a password, works once" in window.text
    window.press(f"Revoke {email}")
    window.audit()
    window.press("Revoke administrator")
    assert not window.has(f"Revoke {email}")


def test_the_last_admin_can_not_be_revoked(acme: Acme, window: Window) -> None:
    window.open(f"{acme.path}/settings/administrators")
    window.press(f"Revoke {acme.email}")
    window.press("Revoke administrator")
    assert window.find(".errors").is_displayed()
    window.audit()


def test_sessions_are_listed_and_ended(acme: Acme, window: Window) -> None:
    acme.sign_in_elsewhere()
    window.open(f"{acme.path}/settings/sessions")
    assert "This session" in window.text
    window.audit()
    window.press(window.find(".row-actions button").text.replace("\n", " "))
    assert "The session was ended." in window.text

    window.press("Sign out everywhere")
    assert window.heading == "Sign in"
    window.open(f"{acme.path}/fields")
    assert window.heading == "Sign in"


def test_a_form_of_an_ended_session_is_continued_after_the_sign_in(
    acme: Acme, window: Window
) -> None:
    acme.set_password()
    window.open(f"{acme.path}/fields/new")
    window.fill("Name", "Größe <b>")
    window.choose("Number")
    window.press("Paste a list")
    window.fill("Values, one per line", "36\n37")
    window.press("Add these values")
    window.find("details > summary").click()
    window.fill("Insertion code", "*|A|*\n\n*|B|*")
    acme.end_sessions()
    window.press("Create field")
    assert "Your session has ended, so nothing was changed." in window.text
    window.audit()
    _sign_in(window, acme, "not the password")
    assert "The email address or the password is not correct." in window.text
    window.audit()

    _sign_in(window, acme)
    _continue(window)
    assert "nothing was saved yet" in window.text
    assert window.path == f"{acme.path}/fields/new"
    entered = [window.value(label) for label in ("Name", "Value 1", "Value 2", "Insertion code")]
    assert entered == ["Größe <b>", "36", "37", "*|A|*\n\n*|B|*"]
    assert acme.core.fields.list_fields(acme.organization.id).fields == ()
    window.audit()
    window.press("Create field")
    assert "The field Größe <b> was created." in window.text


def test_long_content_of_an_ended_session_is_continued_after_the_sign_in(
    acme: Acme, window: Window
) -> None:
    acme.set_password()
    window.open(f"{acme.path}/content")
    content = '<p class="a">é & "b"</p>\n' * 15_000
    window.paste("Content", content)
    acme.end_sessions()
    window.press("Export")
    _sign_in(window, acme)
    _continue(window)
    assert window.value("Content") == content
    window.press("Export")
    assert window.find("#result textarea").get_property("value") == content


def test_a_viewer_sees_pages_without_buttons(acme: Acme, window: Window) -> None:
    """A viewer also belongs to another organization, and chooses one."""
    field = acme.add_field("City")
    other = acme.core.administration.create_organization("Globex").id
    administrators = administrators_of(acme.core)
    grant(administrators, other, acme.email, Role.VIEWER)
    acme.sign_in_again()
    (administrator,) = acme.core.administrators.list_administrators(acme.organization.id)
    grant(administrators, acme.organization.id, f"lee@acme-{other}.example")
    acme.core.administrators.change_role(acme.organization.id, administrator.id, Role.VIEWER)
    acme.core.administration.issue_key(acme.organization.id, name="Checkout service")

    window.open("/console")
    assert window.heading == "Organizations"
    window.audit()
    window.press("Acme Outdoor")
    assert not window.has("New manual field")
    window.audit()
    for path in (
        f"/fields/{field}",
        "/content",
        *(f"/settings/{each}" for each in ("api-keys", "integrations", "administrators")),
    ):
        window.open(f"{acme.path}{path}")
        assert not [word for word in _CHANGES if window.has(word)]
        window.audit()
    window.open(f"{acme.path}/fields/new")
    assert window.heading == "You can't do this"
    window.audit()


def test_the_audit_reports_a_page_with_faults(
    service: Service, any_browser: tuple[Chrome, bool], axe: str
) -> None:
    browser, runs_scripts = any_browser
    window = Window(browser, service.url, runs_scripts, is_phone=False, axe=axe)
    browser.execute_cdp_cmd("Network.clearBrowserCookies", {})
    browser.get("data:text/html,another site")
    window.open("/console/sign-in")
    browser.execute_script(_FAULTS)

    with pytest.raises(AssertionError) as raised:
        window.audit()

    found = str(raised.value)
    assert "data:text/html" in found
    assert "Content Security Policy" in found
    for view in ("1280 px, light", "360 px, dark"):
        assert f"{view}: The page is 2" in found
        assert f"{view}: The target is 20 px high: <button" in found
    assert "360 px, dark: label: <input" in found
    assert "360 px, dark: color-contrast: <h1" in found
    assert "forced colours: Without its own colours, it has no border: <button" in found
    assert ("768 px, light: The page is 2" in found) is runs_scripts
    assert ("The focus is not visible: <button" in found) is runs_scripts
    assert ("Tab does not reach: <input" in found) is runs_scripts
    browser.get_log("browser")


_FAULTS = """
document.querySelector("label").remove();
document.querySelector("h1").style.color = "var(--canvas)";
document.querySelector("main").style.minWidth = "2000px";
Object.assign(document.querySelector("button").style, {
  minHeight: "20px", height: "20px", padding: "0", outline: "none", border: "0",
});
document.querySelector("[type=password]").addEventListener("focus", ({target}) => target.blur());
document.body.append(Object.assign(new Image(), {src: "http://another.example/image"}));
"""

_CHANGES = ("Edit field", "Create API key", "Add integration", "Invite person")


def _invite(storage: str, service: Service, organization: Organization, email: str) -> str:
    """Invite an administrator on the command line, and return the link."""
    options = ("--organization", organization.id, "--console-url", service.url)
    (link,) = CommandLine(storage)("administrators", "invite", email, *options).table()
    return link


def _sign_in(window: Window, acme: Acme, password: str = PASSWORD) -> None:
    window.fill("Email address", acme.email)
    window.fill("Password", password)
    window.press("Sign in")


def _continue(window: Window) -> None:
    """Open the form of the ended session: a script does that itself."""
    if window.runs_scripts:
        eventually(lambda: "nothing was saved yet" in window.text)
    else:
        assert window.heading == "Continue"
        window.audit()
        window.press("Continue")


def _report(folder: Path, *names: str, label: str = "Label") -> str:
    """Write a report with these text fields, and return its path."""
    fields = [{"name": name, "label": label, "data_type": "text"} for name in names]
    path = folder / "report.json"
    path.write_text(json.dumps({"fields": fields}))
    return str(path)


def _audit_progress(window: Window) -> None:
    """Audit the page of a sync in progress: a form that sends nothing shows it until a reload."""
    window.browser.execute_script("addEventListener('submit', event => event.preventDefault())")
    window.find("[value=dry-run]").click()
    eventually(window.find("#progress").is_displayed)
    window.audit()
    window.reload()


def _record_progress(window: Window) -> None:
    """Store each text of the progress in the browser, which outlives the page."""
    window.browser.execute_script(_RECORD)


def _assert_progress(window: Window, text: str) -> None:
    """Require that the previous page showed this text and the time, if it ran scripts."""
    shown = window.browser.execute_script("return sessionStorage.getItem('progress')")
    assert shown == (f"{text} 1 s" if window.runs_scripts else None)


_RECORD = """
const progress = document.getElementById("progress");
sessionStorage.removeItem("progress");
const record = () => sessionStorage.setItem("progress", progress.innerText.replace(/\\s+/g, " "));
new MutationObserver(record).observe(progress, {childList: true, subtree: true});
"""


def _apply(window: Window, expected: str) -> None:
    """Apply the filters: with scripts, the page does so as the administrator types."""
    if window.runs_scripts:
        eventually(lambda: expected in window.text)
    else:
        window.press("Apply")
        assert expected in window.text


def _add_synced_field(acme: Acme) -> None:
    _add_integration(acme, "FNAME", label="First name")


def _add_integration(acme: Acme, *names: str, label: str | None = None) -> str:
    """Add an integration with these fields, and return the path of its page."""
    integrations = acme.core.integrations
    integration = integrations.create_integration(
        acme.organization.id, esp=Esp("mailchimp"), name="Main audience"
    )
    reported = [EspField(name=name, label=label, data_type=DataType.TEXT) for name in names]
    integrations.sync_fields(acme.organization.id, integration.id, reported)
    return f"{acme.path}/settings/integrations/{integration.id}"
