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
from recipient_fields.domain import DataType, IntegrationId, OrganizationId, RecipientField, Role
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

from ...http.conftest import Clock
from ..browser import Browser
from ..conftest import Console, open_console
from ..hostile_texts import HOSTILE

DRY_RUN, SYNC = ("action", "dry-run"), ("action", "sync")


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


BEFORE = (
    text("FNAME", "First name"),
    text("TIER", "Tier", allowed_values=["basic", "gold"]),
    text("FAX", "Fax"),
    text("CITY", "City"),
)
AFTER = (
    text("FNAME", "Given name"),
    text("TIER", "Tier", allowed_values=["gold", "platinum"]),
    text("CITY", "City"),
    text("STORE", "Preferred store"),
    RefusedField("ADDR", "A recipient field can't have the type address."),
)
REPORT = json.dumps(
    {
        "fields": [
            {"name": each.name, "data_type": "text", "label": each.label}
            for each in (BEFORE[0], BEFORE[3], text("STORE", "Preferred store"))
        ]
    }
).encode()

MORE = json.dumps(
    {
        "fields": [
            {"name": each.name, "data_type": "text", "label": each.label}
            for each in (*BEFORE, text("STORE", "Preferred store"))
        ]
    }
).encode()


@pytest.fixture
def sources() -> dict[Esp, EspFieldSource | Exception]:
    """Return the field sources of the server, or the errors of those that it can't read."""
    return {}


@pytest.fixture
def console(clock: Clock, sources: dict[Esp, EspFieldSource | Exception]) -> Iterator[Console]:
    def open_source(_organization_id: OrganizationId, esp: Esp) -> EspFieldSource:
        source = sources.get(esp, NoFieldSource(BUILT_IN[esp].title))
        if isinstance(source, Exception):
            raise source
        return source

    console = open_console(clock, open_source=open_source)
    yield console
    console.core.storage.close()


@pytest.fixture
def path(console: Console) -> str:
    """Return the path of the list."""
    return f"{console.settings}/integrations"


@pytest.fixture
def main(console: Console) -> Integration:
    """Create an integration of Mailchimp with four fields, synced an hour ago."""
    integrations = console.core.integrations
    created = integrations.create_integration(
        console.acme.id, esp=Esp("mailchimp"), name="Main audience"
    )
    integrations.sync_fields(console.acme.id, created.id, BEFORE)
    console.clock.advance(minutes=20)
    return integrations.get_integration(console.acme.id, created.id)


def fields(console: Console) -> dict[str, RecipientField]:
    listed = console.core.fields.list_fields(console.acme.id).fields
    return {str(each.origin.esp_field_name): each for each in listed}


def integrations(console: Console) -> tuple[Integration, ...]:
    return console.core.integrations.list_integrations(console.acme.id)


def test_an_integration_is_created_once(console: Console, dana: Browser, path: str) -> None:
    assert "Acme has no integrations yet" in dana.get(path).text
    form = dana.get(dana.get(path).links["Add integration"])
    inputs = {"name": "Main audience", "esp": "mailchimp"}
    created = dana.follow(dana.submit(form, inputs))
    again = dana.follow(dana.submit(form, inputs))

    assert "The integration Main audience was created" in created.text
    assert "This form was submitted already" in again.text
    assert [(each.name, each.esp) for each in integrations(console)] == [
        ("Main audience", Esp("mailchimp"))
    ]


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
def test_a_wrong_input_creates_no_integration(
    console: Console, dana: Browser, path: str, inputs: dict[str, str], message: str
) -> None:
    response = dana.submit(dana.get(f"{path}/new"), {"name": "Main", "esp": "braze", **inputs})

    assert response.status == 422
    assert message in response.text
    assert integrations(console) == ()
    assert dana.submit(response, {"name": "Main", "esp": "braze"}).status == 303


def test_the_list_shows_fields_last_sync_and_what_needs_a_report(
    console: Console,
    dana: Browser,
    path: str,
    main: Integration,
    sources: dict[Esp, EspFieldSource | Exception],
) -> None:
    console.core.integrations.create_integration(
        console.acme.id, esp=Esp("customerio"), name="Loyalty app"
    )
    sources[Esp("mailchimp")] = Source()
    page = dana.get(path)

    assert "Main audience Mailchimp 4 fields of Main audience 20 Nov 2026, 09:15 UTC" in page.text
    assert "Loyalty app Needs a report Customer.io 0 Never" in page.text
    assert "The API of Customer.io does not list fields" in dana.get(f"{path}/2").text
    assert f"integration={main.id}" in page.links["4 fields of Main audience"]


def test_a_dry_run_shows_the_changes_and_stores_nothing(
    console: Console,
    dana: Browser,
    path: str,
    main: Integration,
    sources: dict[Esp, EspFieldSource | Exception],
) -> None:
    sources[Esp("mailchimp")] = Source(AFTER)
    before = fields(console)

    page = dana.submit_form(dana.get(path), f"/{main.id}/sync", press=DRY_RUN)

    assert page.status == 200
    assert "To create 1 To change 2 To remove 1 Rejected 1 Unchanged 1" in page.text
    assert "Mailchimp reported 5 fields" in page.text
    assert "Create store STORE Preferred store, text" in page.text
    assert "Change fname FNAME Name: First name → Given name" in page.text
    assert "TIER Allowed values: added platinum; removed basic" in page.text
    assert "Remove fax FAX Fax: Mailchimp no longer reports it." in page.text
    assert "Reject None ADDR A recipient field can't have the type address." in page.text
    assert "CITY" not in page.text
    assert fields(console) == before
    assert integrations(console) == (main,)


def test_a_default_at_the_esp_is_shown_if_nothing_changes(
    dana: Browser, path: str, main: Integration, sources: dict[Esp, EspFieldSource | Exception]
) -> None:
    first, *others = BEFORE
    sources[Esp("mailchimp")] = Source((evolve(first, default="<b>friend"), *others))

    page = dana.submit_form(dana.get(path), f"/{main.id}/sync", press=DRY_RUN)

    caveat = (
        f'Caveat None {first.name} Mailchimp has its own default, "<b>friend", which can appear'
    )
    assert caveat in page.text
    assert "The fields are equal already." in page.text


def test_a_choice_that_can_not_be_an_allowed_value_is_shown(
    dana: Browser, path: str, main: Integration, sources: dict[Esp, EspFieldSource | Exception]
) -> None:
    tier = text("TIER", "Tier", allowed_values=["basic", "gold "])
    sources[Esp("mailchimp")] = Source((BEFORE[0], tier, *BEFORE[2:]))

    page = dana.submit_form(dana.get(path), f"/{main.id}/sync", press=DRY_RUN)

    assert "Rejected 0" in page.text
    assert 'Caveat None TIER It is synced without allowed values. Choice 2, "gold ":' in page.text


def test_the_dry_run_leads_to_the_sync_which_shows_its_result(
    console: Console,
    dana: Browser,
    path: str,
    main: Integration,
    sources: dict[Esp, EspFieldSource | Exception],
) -> None:
    sources[Esp("mailchimp")] = Source(AFTER)
    dry_run = dana.submit_form(dana.get(path), f"/{main.id}/sync", press=DRY_RUN)
    assert "Sync and remove 1 field" in dry_run.text

    page = dana.submit(dry_run)

    assert "Main audience was synced: 4 fields changed, 1 field rejected." in page.text
    assert "Created 1 Changed 2 Removed 1 Rejected 1 Unchanged 1" in page.text
    assert fields(console).keys() == {"FNAME", "TIER", "CITY", "STORE"}
    assert integrations(console)[0].last_synced_at == console.clock.now
    again = dana.follow(dana.submit(dry_run))
    assert "This sync was submitted already" in again.text
    assert fields(console)["FNAME"].name == "Given name"


def test_a_field_for_which_another_one_stands_is_linked(
    console: Console,
    dana: Browser,
    path: str,
    main: Integration,
    sources: dict[Esp, EspFieldSource | Exception],
) -> None:
    console.add_field(key="store", name="Store")
    sources[Esp("mailchimp")] = Source(AFTER)
    dry_run = dana.submit_form(dana.get(path), f"/{main.id}/sync", press=DRY_RUN)
    assert "To link 1 To create 0" in dry_run.text
    page = dana.submit(dry_run)
    assert "Linked 1 Created 0" in page.text
    assert "Linked store STORE to STORE (Mailchimp)" in page.text
    assert "store_1" not in page.text


@pytest.mark.parametrize("press", [DRY_RUN, SYNC])
def test_a_plan_is_shown_again_if_the_esp_reports_other_fields_meanwhile(
    console: Console,
    dana: Browser,
    path: str,
    main: Integration,
    sources: dict[Esp, EspFieldSource | Exception],
    press: tuple[str, str],
) -> None:
    sources[Esp("mailchimp")] = Source(AFTER)
    plan = dana.submit_form(dana.get(path), f"/{main.id}/sync", press=press)
    before = fields(console)
    sources[Esp("mailchimp")] = Source(AFTER[1:])

    changed = dana.submit(plan)

    assert changed.status == 409
    assert "The fields or the report have changed since the plan was shown." in changed.text
    assert "Sync and remove 2 fields" in changed.text
    assert fields(console) == before
    assert "was synced" in dana.submit(changed).text
    assert fields(console).keys() == {"TIER", "CITY", "STORE"}


def test_a_report_is_uploaded_and_the_dry_run_keeps_it(
    console: Console, dana: Browser, path: str, main: Integration
) -> None:
    before = fields(console)
    form = dana.get(f"{path}/{main.id}")

    dry_run = dana.upload(form, "/sync", REPORT, press=DRY_RUN)

    assert "To create 1 To change 0 To remove 2 Rejected 0 Unchanged 2" in dry_run.text
    assert "The report has 3 fields" in dry_run.text
    assert fields(console) == before
    page = dana.submit(dry_run)
    assert "Created 1 Changed 0 Removed 2 Rejected 0 Unchanged 2" in page.text
    assert fields(console).keys() == {"FNAME", "CITY", "STORE"}


def test_a_report_is_synced_once(
    console: Console, dana: Browser, path: str, main: Integration
) -> None:
    form = dana.get(f"{path}/{main.id}")
    plan = dana.upload(form, "/sync", MORE, press=SYNC)
    assert fields(console).keys() == {"FNAME", "TIER", "FAX", "CITY"}

    assert "was synced" in dana.submit(plan).text
    console.clock.advance(minutes=1)
    again = dana.submit(plan)

    assert "This sync was submitted already" in dana.follow(again).text
    assert fields(console).keys() == {"FNAME", "TIER", "FAX", "CITY", "STORE"}


@pytest.mark.parametrize(
    ("report", "message"),
    [
        (b"", "No report was uploaded. Choose a file."),
        (b" \n", "No report was uploaded. Choose a file."),
        (b"not JSON", "The document is not JSON: line 1, column 1."),
        (b"\xff", "The document is not UTF-8."),
        (b"[" * 40, "nested deeper than 32 levels"),
        (b"[" + b"1," * 250_000 + b"1]", "The report has too many values."),
        (b"{}", "fields:"),
        (b'{"fields": [{"name": "A"}]}', "fields.0.data_type:"),
        (b'{"fields": [{"name": "A", "data_type": "<b>"}]}', "fields.0.data_type:"),
    ],
)
@pytest.mark.parametrize("button", [DRY_RUN, SYNC])
def test_a_malformed_report_is_explained_and_stores_nothing(
    console: Console,
    dana: Browser,
    path: str,
    main: Integration,
    report: bytes,
    message: str,
    button: tuple[str, str],
) -> None:
    before = fields(console)

    page = dana.upload(dana.get(f"{path}/{main.id}"), "/sync", report, press=button)

    assert page.status == 422
    assert "of Main audience failed, and nothing was changed" in page.text
    assert message in page.text
    assert fields(console) == before
    # The form can be corrected.
    assert dana.upload(page, "/sync", REPORT, press=button).status == 200


def test_a_large_report_is_rejected(
    console: Console, dana: Browser, path: str, main: Integration
) -> None:
    form = dana.get(f"{path}/{main.id}")

    assert dana.upload(form, "/sync", b" " * 1_100_000, press=SYNC).status == 413


@pytest.mark.parametrize(
    ("error", "status"),
    [
        (EspUnavailable("Mailchimp did not respond in time, in 5 attempts."), 503),
        (EspRefused("Mailchimp does not accept these credentials (401)."), 409),
        (SyncOvertaken(), 409),
    ],
)
@pytest.mark.parametrize("button", [DRY_RUN, SYNC])
def test_the_page_says_why_the_esp_failed(
    console: Console,
    dana: Browser,
    path: str,
    main: Integration,
    sources: dict[Esp, EspFieldSource | Exception],
    error: Exception,
    status: int,
    button: tuple[str, str],
) -> None:
    sources[Esp("mailchimp")] = Source(AFTER, error)
    before = fields(console)

    page = dana.submit_form(dana.get(path), f"/{main.id}/sync", press=button)

    assert page.status == status
    assert "failed, and nothing was changed" in page.text
    assert str(error) in page.text
    assert fields(console) == before
    assert integrations(console) == (main,)
    sources[Esp("mailchimp")] = Source(AFTER)
    assert dana.submit_form(page, f"/{main.id}/sync", press=button).status == 200


def test_an_esp_that_the_server_can_not_read_is_explained(
    console: Console, dana: Browser, path: str, main: Integration
) -> None:
    page = dana.upload(dana.get(f"{path}/{main.id}"), "/sync", REPORT, press=DRY_RUN)
    inputs = {**dict(page.form().inputs), "from": "", "action": "sync"}

    response = dana.post(f"{path}/{main.id}/sync", list(inputs.items()))

    assert response.status == 409
    assert "The API of Mailchimp does not list fields" in response.text


def test_one_esp_is_read_at_a_time_and_other_requests_go_on(
    console: Console,
    dana: Browser,
    path: str,
    main: Integration,
    sources: dict[Esp, EspFieldSource | Exception],
) -> None:
    reading, go_on = Event(), Event()

    def wait() -> None:
        reading.set()
        assert go_on.wait(10)

    sources[Esp("mailchimp")] = Source(AFTER, before_each=wait)
    page, results = dana.get(path), []
    second = dana.get(path)
    sync = Thread(
        target=lambda: results.append(dana.submit_form(page, f"/{main.id}/sync", press=SYNC).status)
    )
    sync.start()
    try:
        assert reading.wait(10)
        assert dana.get(console.fields).status == 200
        busy = dana.submit_form(second, f"/{main.id}/sync", press=SYNC)
        assert busy.status == 503
        assert "The server reads the fields of another integration" in busy.text
        form = dana.get(f"{path}/{main.id}")
        assert dana.upload(form, "/sync", REPORT, press=DRY_RUN).status == 200
    finally:
        go_on.set()
        sync.join(10)
    assert results == [200]
    third = dana.submit_form(dana.get(path), f"/{main.id}/sync", press=SYNC)
    assert third.status == 200


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
        (acme, Esp("mailchimp")),
        (acme, Esp("braze")),
        (brewery, Esp("mailchimp")),
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


def test_the_list_counts_the_fields_of_all_integrations_at_once(
    console: Console, dana: Browser, path: str, main: Integration, monkeypatch: pytest.MonkeyPatch
) -> None:
    console.core.integrations.create_integration(console.acme.id, esp=Esp("braze"), name="Other")
    monkeypatch.delattr(type(console.core.storage.fields), "select")

    text = dana.get(path).text

    assert "Main audience Needs a report Mailchimp 4 fields" in text
    assert "Other Needs a report Braze 0" in text


def test_an_integration_is_renamed(
    console: Console, dana: Browser, path: str, main: Integration
) -> None:
    form = dana.get(f"{path}/{main.id}/edit")

    wrong = dana.submit(form, {"name": " "})
    assert wrong.status == 422
    assert "Name: This must not be empty" in wrong.text
    page = dana.follow(dana.submit(wrong, {"name": "Newsletter"}))

    assert "The integration Newsletter was renamed." in page.text
    assert [each.name for each in integrations(console)] == ["Newsletter"]


def test_a_deletion_names_the_fields_and_deletes_them(
    console: Console, dana: Browser, path: str, main: Integration
) -> None:
    form = dana.get(f"{path}/{main.id}/delete")
    for field in fields(console).values():
        assert f"{field.name} {field.key}" in form.text
    assert "Delete integration and 4 fields" in form.text

    page = dana.follow(dana.submit(form))

    assert "The integration Main audience was deleted, with 4 fields." in page.text
    assert fields(console) == {}
    assert integrations(console) == ()


def test_a_field_that_the_confirmation_did_not_name_is_not_deleted(
    console: Console, dana: Browser, path: str, main: Integration
) -> None:
    form = dana.get(f"{path}/{main.id}/delete")
    console.core.integrations.sync_fields(
        console.acme.id, main.id, [*BEFORE, text("STORE", "Preferred store")]
    )

    page = dana.submit(form)

    assert page.status == 409
    assert "The fields of this integration have changed, so nothing was deleted" in page.text
    assert "Preferred store" in page.text
    assert len(fields(console)) == 5
    assert dana.submit(page).status == 303
    assert fields(console) == {}


@pytest.mark.parametrize("ids", ["", "1", "x", "-1", "1 2 3 4 999", "1,2,3,4"])
def test_forged_ids_delete_nothing(
    console: Console, dana: Browser, path: str, main: Integration, ids: str
) -> None:
    form = dana.get(f"{path}/{main.id}/delete")

    assert dana.submit(form, {"expected": ids}).status in {400, 409}
    assert len(fields(console)) == 4


@pytest.mark.slow
def test_ten_thousand_fields_can_be_deleted(
    console: Console, dana: Browser, path: str, main: Integration
) -> None:
    console.core.integrations.sync_fields(
        console.acme.id, main.id, [text(f"F{number}") for number in range(10_000)]
    )

    form = dana.get(f"{path}/{main.id}/delete")

    assert "9,980 more fields" in form.text
    assert dana.submit(form).status == 303
    assert fields(console) == {}


def test_a_viewer_sees_integrations_and_no_button(
    console: Console,
    dana: Browser,
    viewer: Browser,
    path: str,
    main: Integration,
    sources: dict[Esp, EspFieldSource | Exception],
) -> None:
    sources[Esp("mailchimp")] = Source(AFTER)
    listed, shown = viewer.get(path), viewer.get(f"{path}/{main.id}")

    assert "Main audience" in listed.text
    assert "Provider Mailchimp" in shown.text
    for page in (listed, shown):
        assert [form.action for form in page.forms] == ["/console/sign-out"]
        assert not page.links.keys() & {"Add integration", "Rename Main audience", "Rename"}
    for each in ("new", f"{main.id}/edit", f"{main.id}/delete"):
        assert viewer.get(f"{path}/{each}").status == 403


@pytest.mark.parametrize("kind", HOSTILE)
def test_every_text_is_shown_as_text(
    console: Console,
    dana: Browser,
    path: str,
    kind: str,
    sources: dict[Esp, EspFieldSource | Exception],
) -> None:
    hostile = HOSTILE[kind]
    form = dana.get(f"{path}/new")
    dana.submit(form, {"name": hostile, "esp": "hubspot"})
    stored = integrations(console)[0]
    # A report could say anything in the name, the label and a reason.
    sources[Esp("hubspot")] = Source(
        (
            text("city", hostile, allowed_values=[hostile[:50]]),
            EspField(name=hostile, data_type=DataType.TEXT),
            RefusedField(hostile, hostile),
        )
    )
    dry_run = dana.submit_form(dana.get(path), f"/{stored.id}/sync", press=DRY_RUN)
    synced = dana.submit(dry_run)
    sources[Esp("hubspot")] = Source(
        (text("city", f"{hostile[:50]}2", allowed_values=[f"{hostile[:50]}2"]),)
    )
    changed = dana.submit_form(dana.get(path), f"/{stored.id}/sync", press=DRY_RUN)
    sources[Esp("hubspot")] = Source((), EspUnavailable(hostile))
    failed = dana.submit_form(dana.get(path), f"/{stored.id}/sync", press=DRY_RUN)

    for page in (
        dana.get(path),
        dana.get(f"{path}/{stored.id}"),
        dana.get(f"{path}/{stored.id}/edit"),
        dana.get(f"{path}/{stored.id}/delete"),
        dry_run,
        synced,
        changed,
        failed,
    ):
        assert page.status in {200, 503}
        assert " ".join(stored.name.split()) in page.text
        assert sum(tag == "script" for tag, _ in page.tags) == 1
        assert not any(tag in {"img", "b"} for tag, _ in page.tags)


def test_an_integration_that_is_deleted_during_its_sync_is_missing(
    console: Console,
    dana: Browser,
    path: str,
    main: Integration,
    sources: dict[Esp, EspFieldSource | Exception],
) -> None:
    def delete() -> None:
        if integrations(console):
            console.core.integrations.delete_integration(console.acme.id, IntegrationId(main.id))

    sources[Esp("mailchimp")] = Source(AFTER, before_each=delete)

    response = dana.submit_form(dana.get(path), f"/{main.id}/sync", press=SYNC)

    assert response.status == 404
    assert fields(console) == {}
