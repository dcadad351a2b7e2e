"""The history of an organization and of a field, and the restoration of deleted fields."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from recipient_fields.adapters.memory import MemoryStorage
from recipient_fields.domain import (
    ADMINISTRATOR,
    API,
    Author,
    DataType,
    Denied,
    FieldChanges,
    FieldDraft,
    FieldId,
    HistoryQuery,
    HistoryRecord,
    Operation,
    RecipientField,
    decide,
)
from recipient_fields.entrypoints.console.fields.history import PAGE_SIZE

from ...http.conftest import Clock
from ...support.catalog_storage import UnrecordedStorage
from ..browser import Browser, Response
from ..conftest import EMAIL, Console, open_console


def history(console: Console) -> str:
    return f"/console/o/{console.acme.id}/history"


def records(console: Console) -> tuple[HistoryRecord, ...]:
    return console.core.fields.list_changes(console.acme.id, HistoryQuery()).records


def delete(console: Console, field: RecipientField, by: Any = ADMINISTRATOR) -> None:
    console.core.fields.by(Author(by, name="operator")).delete_field(console.acme.id, field.id)


def operations(page: Response) -> list[str]:
    """Return the operations in the table of changes, from its top."""
    verbs = ("Created", "Updated", "Deleted", "Restored")
    table = page.text.partition("Author Time")[2].partition("Definition")[0]
    return [word for word in table.split() if word in verbs]


def test_an_empty_history_says_what_it_will_contain(console, dana):
    page = dana.get(dana.get(console.fields).links["History"])

    assert "No changes are recorded yet" in page.text


def test_each_change_of_an_administrator_is_recorded_with_the_request(console, dana):
    dana.submit(dana.get(f"{console.fields}/new"), {"name": "City"})
    (field,) = console.core.fields.list_fields(console.acme.id).fields
    path = f"{console.fields}/{field.id}"
    dana.submit(dana.get(f"{path}/edit"), {"name": "Town"}, press=("action", "save"))
    dana.submit(dana.get(f"{path}/delete"))
    response = dana.submit(dana.get(f"{path}/history"))

    changes = records(console)
    (administrator,) = console.core.administrators.list_administrators(console.acme.id)
    assert [each.operation.value for each in changes] == [
        *("created", "updated", "deleted", "restored")
    ]
    for each in changes:
        assert (each.author.channel, each.author.id) == (ADMINISTRATOR, administrator.id)
        assert each.author.name == EMAIL
    assert changes[-1].author.request_id == response.headers["x-request-id"]
    page = dana.get(history(console))
    assert operations(page) == ["Restored", "Deleted", "Updated", "Created"]
    assert f"Updated Name: City → Town {EMAIL} Manual 20 Nov 2026" in page.text


def test_changes_of_integrations_are_recorded(console, dana):
    integration = console.add_integration("mailchimp", "Main audience")
    path = f"{console.settings}/integrations/{integration.id}"
    report = b'{"fields": [{"name": "FNAME", "data_type": "text"}]}'
    page = dana.get(path)
    synced = dana.submit(dana.upload(page, "/sync", report, press=("action", "dry-run")))
    dana.submit(dana.get(f"{path}/delete"))

    created, deleted = records(console)
    assert created.author.name == "Main audience"
    assert created.author.request_id == synced.headers["x-request-id"]
    assert deleted.author.name == EMAIL
    assert "Main audience Integration" in dana.get(history(console)).text


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("", ["Deleted", "Updated", "Created", "Created"]),
        ("key=%20tier%20", ["Updated", "Created"]),
        ("origin=manual", ["Deleted", "Created"]),
        ("operation=updated&origin=api", ["Updated"]),
        ("operation=x&origin=;&before=x", ["Deleted", "Updated", "Created", "Created"]),
        ("before=3", ["Created", "Created"]),
    ],
)
def test_filters_are_in_the_url(console, dana, query, expected):
    city = console.add_field(name="City")
    tier = console.add_field(API, name="Tier")
    console.core.fields.update_field(console.acme.id, tier.id, FieldChanges(name="Level"))
    delete(console, city)

    assert operations(dana.get(f"{history(console)}?{query}")) == expected


@pytest.mark.parametrize("query", ["key=no", "origin=integration", "before=1"])
def test_filters_without_a_match_can_be_cleared(console, dana, query):
    console.add_field(name="City")

    page = dana.get(f"{history(console)}?{query}")

    assert "No change matches these filters" in page.text
    assert operations(dana.get(page.links["Clear the filters"])) == ["Created"]


def test_pages_have_every_change_that_matches_the_filters_once(console, dana):
    count = PAGE_SIZE * 2 + 1
    for number in range(count):
        field = console.add_field(name=f"Field {number}")
        if number % PAGE_SIZE == 0:
            console.add_field(API, name=f"Field {number} of the API")
            console.core.fields.by(Author(ADMINISTRATOR)).update_field(
                console.acme.id, field.id, FieldChanges(insertable=False)
            )

    page = dana.get(f"{history(console)}?origin=manual&operation=created")
    found: list[str] = []
    while len(found) <= count:
        found += [text for text in page.links if text.startswith("Field ")]
        if "Next page" not in page.links:
            break
        page = dana.get(page.links["Next page"])

    assert found == [f"Field {number}" for number in reversed(range(count))]
    first = dana.get(page.links["First page"])
    assert f"Field {count - 1}" in first.links
    assert "First page" not in first.links


def test_the_page_of_a_field_shows_its_last_changes(console, dana):
    field = console.add_field(name="Tier", allowed_values=["gold", "silver"])
    console.add_field(name="City")
    service = console.core.fields.by(Author(ADMINISTRATOR, name="operator"))
    for values in (["silver", "gold"], ["silver", "bronze"], None):
        service.update_field(console.acme.id, field.id, FieldChanges(allowed_values=values))
    service.update_field(
        console.acme.id, field.id, FieldChanges(insertable=False, custom_insertion_code="{{a}}")
    )

    page = dana.get(f"{console.fields}/{field.id}")

    assert operations(page) == ["Updated"] * 4 + ["Created"]
    assert "All changes" not in page.links
    assert "Insertable: Yes → No Insertion code: None → {{a}} operator Manual" in page.text
    assert "Allowed values: removed silver, bronze operator" in page.text
    assert "Allowed values: added bronze; removed gold operator" in page.text
    assert "Allowed values: in another order operator" in page.text
    assert "Created Tier, text An administrator Manual" in page.text

    service.update_field(console.acme.id, field.id, FieldChanges(name="Level"))
    page = dana.get(dana.get(f"{console.fields}/{field.id}").links["All changes"])
    assert operations(page) == ["Updated"] * 5 + ["Created"]


def test_a_deleted_manual_field_is_restored(console, dana):
    field = console.add_field(name="City", allowed_values=["Bonn"])
    delete(console, field)
    page = dana.get(dana.get(history(console)).links["City"])
    assert "operator deleted this field on" in page.text

    shown = dana.follow(dana.submit(page))

    assert "The field City was restored." in shown.text
    (restored,) = console.core.fields.list_fields(console.acme.id).fields
    assert (restored.id, restored.allowed_values) == (field.id, field.allowed_values)
    assert "Restore field" not in dana.get(f"{console.fields}/{field.id}/history").html


def test_a_restoration_has_its_effect_once(console, dana):
    field = console.add_field(name="City")
    delete(console, field)
    page, other_page = (dana.get(f"{console.fields}/{field.id}/history") for _ in range(2))
    dana.submit(page)

    again = dana.follow(dana.submit(page))
    assert "This form was submitted already, so nothing was changed this time." in again.text
    assert "The field is not deleted." in dana.follow(dana.submit(other_page)).text
    assert len(records(console)) == 3


def test_a_field_whose_key_is_taken_is_not_restored(console, dana):
    field = console.add_field(name="City")
    delete(console, field)
    taking = console.add_field(API, name="City")

    response = dana.submit(dana.get(f"{console.fields}/{field.id}/history"))

    assert response.status == 409
    assert "The field was not restored, because another field has the key city." in response.text
    assert response.links["another field"] == f"{console.fields}/{taking.id}"
    assert console.core.fields.list_fields(console.acme.id).fields == (taking,)
    delete(console, taking, API)
    assert dana.submit(response).status == 303


def test_fields_of_other_origins_can_not_be_restored(console, dana):
    field = console.add_field(API, name="City")
    delete(console, field, API)
    decision = decide(ADMINISTRATOR, Operation.CREATE, field.origin)
    assert isinstance(decision, Denied)

    page = dana.get(f"{console.fields}/{field.id}/history")
    assert decision.reason in page.text
    assert "Restore field" not in page.html

    response = dana.post(f"{console.fields}/{field.id}/restore", page.form().inputs)
    assert response.status == 403
    assert decision.reason in response.text
    assert len(records(console)) == 2


def test_a_viewer_sees_the_history_and_no_button(console, dana, viewer):
    field = console.add_field(name="City")
    delete(console, field)

    page = viewer.get(f"{console.fields}/{field.id}/history")

    assert operations(page) == ["Deleted", "Created"]
    assert "ask an administrator with the role admin" in page.text
    assert "Restore field" not in page.html


@pytest.mark.parametrize("text", ["0", "9" * 16, "x"])
def test_a_malformed_position_is_no_error_of_the_server(console, dana, text):
    assert dana.get(f"{history(console)}?before={text}").status in {200, 400}


def test_a_field_without_records_has_an_empty_history(console, dana):
    field = console.add_field(name="City")
    console.clock.advance(seconds=1)
    console.core.fields.prune_history(console.acme.id, older_than=timedelta())

    for path in (f"{console.fields}/{field.id}", f"{console.fields}/{field.id}/history"):
        assert "No change of this field is recorded." in dana.get(path).text
    missing = FieldId(field.id + 1)
    assert dana.get(f"{console.fields}/{missing}/history").status == 404


class TestAStorageWithoutAHistory:
    """The pages say that the storage has no history, and offer nothing that needs one."""

    @pytest.fixture
    def console(self, clock: Clock) -> Console:
        return open_console(clock, storage=UnrecordedStorage(MemoryStorage()))

    @pytest.fixture
    def dana(self, console: Console) -> Browser:
        return console.signed_in()

    def test_the_history_and_removed_fields_need_another_storage(self, console, dana):
        field = console.sync_field()
        integration = f"{console.settings}/integrations/{field.origin.integration_id}"
        for path in (
            history(console),
            f"{console.fields}/{field.id}/history",
            f"{integration}/removed",
        ):
            page = dana.get(path)
            assert page.status == 501
            assert "This storage has no history of fields." in page.text

    def test_a_field_has_no_changes_and_is_deleted_for_good(self, console, dana):
        field = console.add_field()
        shown = dana.get(f"{console.fields}/{field.id}")
        assert shown.status == 200
        assert "The storage of this service has no history of fields." in shown.text
        confirmation = dana.get(f"{console.fields}/{field.id}/delete")
        assert "be restored, because the storage of this service has no" in confirmation.text
        assert dana.follow(dana.submit(confirmation)).status == 200
        assert console.core.fields.list_fields(console.acme.id).fields == ()

    def test_an_integration_offers_no_removed_fields(self, console, dana):
        field = console.sync_field()
        integration = f"{console.settings}/integrations/{field.origin.integration_id}"
        page = dana.get(integration)
        assert page.status == 200
        assert "Removed fields" not in page.text


def test_a_deletion_and_a_restoration_are_undone(console, dana):
    field = console.add_field(name="City", key="city")
    page = dana.get(f"{console.fields}/{field.id}/delete")

    page = dana.follow(dana.submit(page))
    assert "The field City was deleted. Undo" in page.text
    page = dana.follow(dana.submit_form(page, "/restore"))
    assert "The field City was restored. Undo" in page.text
    page = dana.follow(dana.submit_form(page, "/delete"))

    assert "The field City was deleted." in page.text
    assert console.core.fields.list_fields(console.acme.id).fields == ()
    assert "Undo" not in dana.get(console.fields).text


def test_the_history_restores_what_can_be_restored(console, dana, viewer):
    field = console.add_field(name="City", key="city")
    kept = console.add_field(name="Zip", key="zip")
    for _ in range(2):
        delete(console, field)
        console.core.fields.by(Author(ADMINISTRATOR)).restore_field(console.acme.id, field.id)
    delete(console, field)
    by_api = console.core.fields.by(Author(API))
    api_field = by_api.create_field(console.acme.id, FieldDraft(name="A", data_type=DataType.TEXT))
    by_api.delete_field(console.acme.id, api_field.id)

    page = dana.get(history(console))

    actions = [each.action for each in page.forms if each.action.endswith("/restore")]
    assert actions == [f"{console.fields}/{field.id}/restore"]
    assert not any(each.action.endswith("/restore") for each in viewer.get(history(console)).forms)
    restored = dana.follow(dana.submit_form(page, "/restore"))
    assert "The field City was restored." in restored.text
    assert console.core.fields.get_field(console.acme.id, kept.id) == kept


def test_the_history_shows_the_names_of_keys(console, dana):
    key = console.core.administration.issue_key(console.acme.id, name="Checkout").api_key
    by_key = console.core.fields.by(Author(API, id=key.id, name=key.display))
    by_key.create_field(console.acme.id, FieldDraft(name="City", data_type=DataType.TEXT))

    page = dana.get(history(console))

    assert "Checkout API" in page.text
    assert key.display not in page.text
