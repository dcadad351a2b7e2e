"""Settings → Integrations."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from io import StringIO
from threading import Event, Thread
from typing import Any

import pytest
from attrs import evolve, frozen

from recipient_fields.application import EspFieldSource
from recipient_fields.domain import DataType, OrganizationId, RecipientField, Role
from recipient_fields.domain.esp import BUILT_IN, Esp
from recipient_fields.domain.integrations import (
    EspField,
    EspRefused,
    EspUnavailable,
    Integration,
    NoFieldSource,
    RefusedField,
    ReportedField,
    SyncOvertaken,
)
from recipient_fields.entrypoints.service.composition import create_service
from recipient_fields.entrypoints.service.log import BufferedHandler, json_formatter
from recipient_fields.entrypoints.service.settings import Settings
from recipient_fields.testing.examples import in_pairs

from ...http.conftest import Clock
from ..browser import Browser, Response
from ..conftest import Console, open_console

Button = tuple[str, str]
Sources = dict[Esp, EspFieldSource]
DRY_RUN, SYNC = ("action", "dry-run"), ("action", "sync")
MAILCHIMP = Esp("mailchimp")


@frozen
class Source:
    """A field source with these fields, which fails at the end if there is an error."""

    reported: tuple[ReportedField, ...] = ()
    error: Exception | None = None
    before_each: Callable[[], object] = bool

    def fields(self) -> Iterator[ReportedField]:
        for each in self.reported:
            self.before_each()
            yield each
        if self.error is not None:
            raise self.error


def text(name: str, label: str | None = None, **members: Any) -> EspField:
    return EspField(name=name, label=label, data_type=DataType.TEXT, **members)


def report(*fields: EspField) -> bytes:
    """Return a file with these fields."""
    members = [{"name": each.name, "data_type": "text", "label": each.label} for each in fields]
    return json.dumps({"fields": members}).encode()


FNAME, TIER, FAX, CITY = BEFORE = (
    text("FNAME", "First name"),
    text("TIER", "Tier", allowed_values=["basic", "gold"]),
    text("FAX", "Fax"),
    text("CITY", "City"),
)
STORE = text("STORE", "Preferred store")
AFTER = (
    text("FNAME", "Given name"),
    text("TIER", "Tier", allowed_values=["gold", "platinum"]),
    CITY,
    STORE,
    RefusedField("ADDR", "A recipient field can't have the type address."),
)
REPORT = report(FNAME, CITY, STORE)


@frozen
class Audience:
    """An integration of Mailchimp with four fields, synced 20 minutes ago, and its pages."""

    console: Console
    dana: Browser
    sources: Sources
    main: Integration

    @property
    def listed(self) -> str:
        """The path of the list."""
        return f"{self.console.settings}/integrations"

    @property
    def path(self) -> str:
        return f"{self.listed}/{self.main.id}"

    @property
    def fields(self) -> dict[str, RecipientField]:
        """The fields of the organization by their ESP names."""
        listed = self.console.core.fields.list_fields(self.console.acme.id).fields
        return {str(each.origin.esp_field_name): each for each in listed}

    @property
    def integrations(self) -> tuple[Integration, ...]:
        return self.console.core.integrations.list_integrations(self.console.acme.id)

    def add_integration(self, esp: str, name: str) -> None:
        integrations = self.console.core.integrations
        integrations.create_integration(self.console.acme.id, esp=Esp(esp), name=name)

    def sync_fields(self, *reported: EspField) -> None:
        """Sync without the console."""
        integrations = self.console.core.integrations
        integrations.sync_fields(self.console.acme.id, self.main.id, reported)

    def esp_reports(self, *reported: ReportedField, **options: Any) -> None:
        """Let the API of Mailchimp list these fields from now on."""
        self.sources[MAILCHIMP] = Source(reported, **options)

    def press(self, button: Button, page: Response | None = None) -> Response:
        """Press a button of the integration on the page, or on the list."""
        page = page or self.dana.get(self.listed)
        return self.dana.submit_form(page, f"/{self.main.id}/sync", press=button)

    def upload(self, file: bytes, button: Button, page: Response | None = None) -> Response:
        """Upload a report on the page, or on that of the integration."""
        return self.dana.upload(page or self.dana.get(self.path), "/sync", file, press=button)


@pytest.fixture
def sources() -> Sources:
    """Return the field sources of the server."""
    return {}


@pytest.fixture
def console(clock: Clock, sources: Sources) -> Iterator[Console]:
    def open_source(_organization_id: OrganizationId, esp: Esp) -> EspFieldSource:
        if esp not in sources:
            raise NoFieldSource(BUILT_IN[esp].title)
        return sources[esp]

    console = open_console(clock, open_source=open_source)
    yield console
    console.core.storage.close()


@pytest.fixture
def path(console: Console) -> str:
    """Return the path of the list."""
    return f"{console.settings}/integrations"


@pytest.fixture
def audience(console: Console, dana: Browser, sources: Sources) -> Audience:
    integrations, acme = console.core.integrations, console.acme.id
    created = integrations.create_integration(acme, esp=MAILCHIMP, name="Main audience")
    integrations.sync_fields(acme, created.id, BEFORE)
    console.clock.advance(minutes=20)
    return Audience(console, dana, sources, integrations.get_integration(acme, created.id))


def test_an_integration_is_created_once(console, dana, path):
    assert "Acme has no integrations yet" in dana.get(path).text
    form = dana.get(dana.get(path).links["Add integration"])
    inputs = {"name": "Main audience", "esp": "mailchimp"}
    created = dana.follow(dana.submit(form, inputs))
    again = dana.follow(dana.submit(form, inputs))

    assert "The integration Main audience was created" in created.text
    assert "This form was submitted already" in again.text
    listed = console.core.integrations.list_integrations(console.acme.id)
    assert [(each.name, each.esp) for each in listed] == [("Main audience", MAILCHIMP)]


@pytest.mark.parametrize(
    ("inputs", "message"),
    [
        ({"name": ""}, "Name: This must not be empty"),
        ({"name": "x" * 256}, "Name: This must have at most 255 characters"),
        ({"name": "a\nb"}, "Name: Remove line breaks"),
        ({"esp": ""}, "Email service provider: Choose the provider"),
        ({"esp": "nobody"}, "Email service provider: Choose the provider"),
    ],
)
def test_a_wrong_input_creates_no_integration(console, dana, path, inputs, message):
    response = dana.submit(dana.get(f"{path}/new"), {"name": "Main", "esp": "braze", **inputs})

    assert response.status == 422
    assert message in response.text
    assert console.core.integrations.list_integrations(console.acme.id) == ()
    assert dana.submit(response, {"name": "Main", "esp": "braze"}).status == 303


def test_the_list_shows_fields_last_sync_and_what_needs_a_report(audience, dana):
    audience.add_integration("customerio", "Loyalty app")
    audience.esp_reports()
    page = dana.get(audience.listed)

    assert "Main audience Mailchimp 4 fields of Main audience 20 Nov 2026, 09:15 UTC" in page.text
    assert "Loyalty app Needs a report Customer.io 0 Never" in page.text
    assert "The API of Customer.io does not list fields" in dana.get(f"{audience.listed}/2").text
    assert f"integration={audience.main.id}" in page.links["4 fields of Main audience"]


DRY_RUNS: dict[str, tuple[tuple[ReportedField, ...], list[str]]] = {
    "the changes": (
        AFTER,
        [
            "To create 1 To change 2 To remove 1 Rejected 1 Unchanged 1",
            "Mailchimp reported 5 fields",
            "Create store STORE Preferred store, text",
            "Change fname FNAME Name: First name → Given name",
            "TIER Allowed values: added platinum; removed basic",
            "Remove fax FAX Fax: Mailchimp no longer reports it.",
            "Reject None ADDR A recipient field can't have the type address.",
            "Sync and remove 1 field",
        ],
    ),
    "a default at the ESP, if nothing changes": (
        (evolve(FNAME, default="<b>friend"), TIER, FAX, CITY),
        [
            'Caveat None FNAME Mailchimp has its own default, "<b>friend", which can appear',
            "The fields are equal already.",
        ],
    ),
    "a choice that can't be an allowed value": (
        (FNAME, text("TIER", "Tier", allowed_values=["basic", "gold "]), FAX, CITY),
        [
            "Rejected 0",
            'Caveat None TIER It is synced without allowed values. Choice 2, "gold ":',
        ],
    ),
}


@pytest.mark.parametrize(("reported", "shown"), DRY_RUNS.values(), ids=DRY_RUNS)
def test_a_dry_run_shows_and_stores_nothing(audience, reported, shown):
    before = audience.fields
    audience.esp_reports(*reported)

    page = audience.press(DRY_RUN)

    assert page.status == 200
    assert [each for each in shown if each not in page.text] == []
    assert "CITY" not in page.text
    assert audience.fields == before
    assert audience.integrations == (audience.main,)


def test_the_dry_run_leads_to_the_sync_which_shows_its_result(audience, dana):
    audience.esp_reports(*AFTER)
    dry_run = audience.press(DRY_RUN)

    page = dana.submit(dry_run)

    assert "Main audience was synced: 4 fields changed, 1 field rejected." in page.text
    assert "Created 1 Changed 2 Removed 1 Rejected 1 Unchanged 1" in page.text
    assert audience.fields.keys() == {"FNAME", "TIER", "CITY", "STORE"}
    assert audience.integrations[0].last_synced_at == audience.console.clock.now
    again = dana.follow(dana.submit(dry_run))
    assert "This sync was submitted already" in again.text
    assert audience.fields["FNAME"].name == "Given name"


def test_a_field_for_which_another_one_stands_is_linked(audience, dana):
    audience.console.add_field(key="store", name="Store")
    audience.esp_reports(*AFTER)
    dry_run = audience.press(DRY_RUN)
    assert "To link 1 To create 0" in dry_run.text
    page = dana.submit(dry_run)
    assert "Linked 1 Created 0" in page.text
    assert "Linked store STORE to STORE (Mailchimp)" in page.text
    assert "store_1" not in page.text


@pytest.mark.parametrize("button", [DRY_RUN, SYNC])
def test_a_plan_is_shown_again_if_the_esp_reports_other_fields_meanwhile(audience, dana, button):
    audience.esp_reports(*AFTER)
    plan = audience.press(button)
    before = audience.fields
    audience.esp_reports(*AFTER[1:])

    changed = dana.submit(plan)

    assert changed.status == 409
    assert "The fields or the report have changed since the plan was shown." in changed.text
    assert "Sync and remove 2 fields" in changed.text
    assert audience.fields == before
    assert "was synced" in dana.submit(changed).text
    assert audience.fields.keys() == {"TIER", "CITY", "STORE"}


def test_a_report_is_uploaded_and_the_dry_run_keeps_it(audience, dana):
    before = audience.fields

    dry_run = audience.upload(REPORT, DRY_RUN)

    assert "To create 1 To change 0 To remove 2 Rejected 0 Unchanged 2" in dry_run.text
    assert "The report has 3 fields" in dry_run.text
    assert audience.fields == before
    page = dana.submit(dry_run)
    assert "Created 1 Changed 0 Removed 2 Rejected 0 Unchanged 2" in page.text
    assert audience.fields.keys() == {"FNAME", "CITY", "STORE"}


def test_a_report_is_synced_once(audience, dana):
    plan = audience.upload(report(*BEFORE, STORE), SYNC)
    assert audience.fields.keys() == {"FNAME", "TIER", "FAX", "CITY"}

    assert "was synced" in dana.submit(plan).text
    audience.console.clock.advance(minutes=1)
    again = dana.submit(plan)

    assert "This sync was submitted already" in dana.follow(again).text
    assert audience.fields.keys() == {"FNAME", "TIER", "FAX", "CITY", "STORE"}


MALFORMED = {
    "nothing": (b"", "No report was uploaded. Choose a file."),
    "white space": (b" \n", "No report was uploaded. Choose a file."),
    "no JSON": (b"not JSON", "The document is not JSON: line 1, column 1."),
    "no UTF-8": (b"\xff", "The document is not UTF-8."),
    "nested too deep": (b"[" * 40, "nested deeper than 32 levels"),
    "too many values": (b"[" + b"1," * 250_000 + b"1]", "The report has too many values."),
    "no fields": (b"{}", "fields:"),
    "no data type": (b'{"fields": [{"name": "A"}]}', "fields.0.data_type:"),
    "markup": (b'{"fields": [{"name": "A", "data_type": "<b>"}]}', "fields.0.data_type:"),
}


@in_pairs(file=list(MALFORMED), button=[DRY_RUN, SYNC])
def test_a_malformed_report_is_explained_and_stores_nothing(audience, file, button):
    before = audience.fields
    content, message = MALFORMED[file]

    page = audience.upload(content, button)

    assert page.status == 422
    assert "of Main audience failed, and nothing was changed" in page.text
    assert message in page.text
    assert audience.fields == before
    # The form can be corrected.
    assert audience.upload(REPORT, button, page).status == 200


def test_a_large_report_is_rejected(audience):
    assert audience.upload(b" " * 1_100_000, SYNC).status == 413


@pytest.mark.parametrize(
    ("error", "status"),
    [
        (EspUnavailable("Mailchimp did not respond in time, in 5 attempts."), 503),
        (EspRefused("Mailchimp does not accept these credentials (401)."), 409),
        (SyncOvertaken(), 409),
    ],
)
@pytest.mark.parametrize("button", [DRY_RUN, SYNC])
def test_the_page_says_why_the_esp_failed(audience, error, status, button):
    audience.esp_reports(*AFTER, error=error)
    before = audience.fields

    page = audience.press(button)

    assert page.status == status
    assert "failed, and nothing was changed" in page.text
    assert str(error) in page.text
    assert audience.fields == before
    assert audience.integrations == (audience.main,)
    audience.esp_reports(*AFTER)
    assert audience.press(button, page).status == 200


def test_an_esp_that_the_server_can_not_read_is_explained(audience, dana):
    page = audience.upload(REPORT, DRY_RUN)
    inputs = {**dict(page.form().inputs), "from": "", "action": "sync"}

    response = dana.post(f"{audience.path}/sync", list(inputs.items()))

    assert response.status == 409
    assert "The API of Mailchimp does not list fields" in response.text


def test_one_esp_is_read_at_a_time_and_other_requests_go_on(audience, dana):
    reading, go_on = Event(), Event()

    def wait() -> None:
        reading.set()
        assert go_on.wait(10)

    audience.esp_reports(*AFTER, before_each=wait)
    first, second = dana.get(audience.listed), dana.get(audience.listed)
    results: list[int] = []
    sync = Thread(target=lambda: results.append(audience.press(SYNC, first).status))
    sync.start()
    try:
        assert reading.wait(10)
        assert dana.get(audience.console.fields).status == 200
        busy = audience.press(SYNC, second)
        assert busy.status == 503
        assert "The server reads the fields of another integration" in busy.text
        assert audience.upload(REPORT, DRY_RUN).status == 200
    finally:
        go_on.set()
        sync.join(10)
    assert results == [200]
    assert audience.press(SYNC).status == 200


def test_the_service_reads_esps_with_the_credentials_in_its_environment() -> None:
    environment = {
        "RECIPIENT_FIELDS_MAILCHIMP_API_KEY": "secret-us1",
        "RECIPIENT_FIELDS_MAILCHIMP_LIST_ID": "list",
    }
    handler = BufferedHandler(StringIO(), json_formatter())
    settings = Settings(storage="memory:", console=True, esp_organizations=(OrganizationId(1),))
    service = create_service(settings, environment, handler)
    acme, brewery = map(service.core.administration.create_organization, ("Acme", "Brewery"))
    console = Console(service.core, Clock(), service.application, acme)  # type: ignore[arg-type]
    for organization, esp in (
        (acme, MAILCHIMP),
        (acme, Esp("braze")),
        (brewery, MAILCHIMP),
        (brewery, Esp("customerio")),
    ):
        console.core.integrations.create_integration(organization.id, esp=esp, name=esp)

    page = console.signed_in().get(f"{console.settings}/integrations")

    assert "mailchimp Mailchimp 0 Never" in page.text
    assert "braze Not connected Braze 0 Never" in page.text
    assert page.links["Connect braze"].endswith("/connect")
    assert "secret-us1" not in page.html

    bob = console.signed_in("bob@brewery.example", Role.ADMIN, brewery.id)
    path = f"/console/o/{brewery.id}/settings/integrations"
    listed, shown = bob.get(path), bob.get(f"{path}/3")
    assert "mailchimp Not connected Mailchimp 0 Never" in listed.text
    assert [form.action for form in shown.forms if "from" not in dict(form.inputs)] == [
        "/console/sign-out"
    ]
    for press in (DRY_RUN, SYNC):
        refused = bob.post(f"{path}/3/sync", [*shown.forms[0].inputs, press])
        assert refused.status == 409
        assert "has not permitted this organization to use the credentials" in refused.text
    assert "The API of Customer.io does not list fields." in bob.get(f"{path}/4").text


def test_the_list_counts_the_fields_of_all_integrations_at_once(audience, dana, monkeypatch):
    audience.add_integration("braze", "Other")
    monkeypatch.delattr(type(audience.console.core.storage.fields), "select")

    text = dana.get(audience.listed).text

    assert "Main audience Needs a report Mailchimp 4 fields" in text
    assert "Other Needs a report Braze 0" in text


def test_an_integration_is_renamed(audience, dana):
    wrong = dana.submit(dana.get(f"{audience.path}/edit"), {"name": " "})
    assert wrong.status == 422
    assert "Name: This must not be empty" in wrong.text
    page = dana.follow(dana.submit(wrong, {"name": "Newsletter"}))

    assert "The integration Newsletter was renamed." in page.text
    assert [each.name for each in audience.integrations] == ["Newsletter"]


def test_a_deletion_names_the_fields_and_deletes_them(audience, dana):
    form = dana.get(f"{audience.path}/delete")
    for field in audience.fields.values():
        assert f"{field.name} {field.key}" in form.text
    assert "Delete integration and 4 fields" in form.text

    page = dana.follow(dana.submit(form))

    assert "The integration Main audience was deleted, with 4 fields." in page.text
    assert audience.fields == {}
    assert audience.integrations == ()


def test_a_field_that_the_confirmation_did_not_name_is_not_deleted(audience, dana):
    form = dana.get(f"{audience.path}/delete")
    audience.sync_fields(*BEFORE, STORE)

    page = dana.submit(form)

    assert page.status == 409
    assert "The fields of this integration have changed, so nothing was deleted" in page.text
    assert "Preferred store" in page.text
    assert len(audience.fields) == 5
    assert dana.submit(page).status == 303
    assert audience.fields == {}


@pytest.mark.parametrize("ids", ["", "1", "x", "-1", "1 2 3 4 999", "1,2,3,4"])
def test_forged_ids_delete_nothing(audience, dana, ids):
    form = dana.get(f"{audience.path}/delete")

    assert dana.submit(form, {"expected": ids}).status in {400, 409}
    assert len(audience.fields) == 4


@pytest.mark.slow
def test_ten_thousand_fields_can_be_deleted(audience, dana):
    audience.sync_fields(*(text(f"F{number}") for number in range(10_000)))

    form = dana.get(f"{audience.path}/delete")

    assert "9,980 more fields" in form.text
    assert dana.submit(form).status == 303
    assert audience.fields == {}


def test_an_integration_that_is_deleted_during_its_sync_is_missing(audience):
    def delete() -> None:
        if audience.integrations:
            integrations = audience.console.core.integrations
            integrations.delete_integration(audience.console.acme.id, audience.main.id)

    audience.esp_reports(*AFTER, before_each=delete)

    assert audience.press(SYNC).status == 404
    assert audience.fields == {}
