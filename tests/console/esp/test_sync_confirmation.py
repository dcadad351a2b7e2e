"""Syncs that remove fields: the plan, its confirmation, and the restoration."""

from __future__ import annotations

import json

import pytest

from recipient_fields.domain import DataType, FieldDraft, HistoryQuery, RecordedOperation
from recipient_fields.domain.integrations import Integration

from ..browser import Browser, Response
from ..conftest import EMAIL, Console

FIELDS = 50
SYNC, DRY_RUN = ("action", "sync"), ("action", "dry-run")


@pytest.fixture
def main(console: Console) -> Integration:
    """Create an integration with 50 fields."""
    names = (f"F{number}" for number in range(FIELDS))
    created = console.add_integration("mailchimp", "Main  audience", *names)
    console.clock.advance(minutes=1)
    return console.core.integrations.get_integration(console.acme.id, created.id)


@pytest.fixture
def path(console: Console, main: Integration) -> str:
    return f"{console.settings}/integrations/{main.id}"


def report(names: range) -> bytes:
    fields = [{"name": f"F{number}", "data_type": "text"} for number in names]
    return json.dumps({"fields": fields}).encode()


def stored(console: Console) -> dict[str, int]:
    """Return the ids of the stored fields by key."""
    return {
        field.key: field.id for field in console.core.fields.list_fields(console.acme.id).fields
    }


def upload(dana: Browser, path: str, names: range, press: tuple[str, str] = SYNC) -> Response:
    return dana.upload(dana.get(path), "/sync", report(names), press=press)


@pytest.mark.parametrize(
    ("removals", "press"), [(0, SYNC), (1, DRY_RUN), (9, SYNC), (10, DRY_RUN), (50, SYNC)]
)
def test_removals_are_shown_before_they_are_confirmed(console, dana, path, removals, press):
    before = stored(console)
    names = range(removals, FIELDS + 1)

    plan = upload(dana, path, names, press)

    assert plan.status == 200
    assert len(stored(console)) == FIELDS
    assert plan.text.count("Remove f") == removals
    confirmation = plan.form("plan")
    assert ("integration_name" in dict(confirmation.inputs)) is (removals >= 10)
    named = {"integration_name": "Main audience"} if removals >= 10 else {}
    done = dana.submit(plan, named)
    assert "was synced" in done.text
    assert len(before.keys() - stored(console)) == removals
    assert "f50" in stored(console)


@pytest.mark.parametrize("typed", ["", "Main", "main audience"])
def test_ten_removals_require_the_name_of_the_integration(console, dana, path, typed):
    plan = upload(dana, path, range(10, FIELDS))

    wrong = dana.submit(plan, {"integration_name": typed})

    assert wrong.status == 422
    assert "Nothing was changed: confirm the removal of 10 fields" in wrong.text
    assert "Name of the integration: Type Main audience" in wrong.text
    assert wrong.form("plan").value("integration_name") == typed
    assert len(stored(console)) == FIELDS
    assert "was synced" in dana.submit(wrong, {"integration_name": " Main audience "}).text
    assert len(stored(console)) == FIELDS - 10


@pytest.mark.parametrize("press", [SYNC, DRY_RUN])
def test_an_empty_report_is_rejected(console, dana, path, press):
    page = dana.upload(dana.get(path), "/sync", b'{"fields": []}', press=press)

    assert page.status == 422
    assert "The report has no fields, so nothing was changed." in page.text
    assert "ask the operator to run the command integrations sync with --allow-empty" in page.text
    assert len(stored(console)) == FIELDS


@pytest.mark.parametrize("removals", [0, 1, 10])
def test_a_plan_that_has_changed_is_shown_again(console, dana, path, removals):
    named = {"integration_name": "Main audience"} if removals >= 10 else {}
    plan = upload(dana, path, range(removals, FIELDS + 1), DRY_RUN)
    assert "Create f50 F50" in plan.text
    draft = FieldDraft(name="F50", data_type=DataType.TEXT)
    console.core.fields.create_field(console.acme.id, draft)
    before = stored(console)

    changed = dana.submit(plan, named)

    assert changed.status == 409
    assert "The fields or the report have changed since the plan was shown." in changed.text
    assert "Link f50 F50 to F50 (Mailchimp)" in changed.text
    assert stored(console) == before
    assert set(changed.form("plan").values("integration_name")) <= {""}  # It confirms one plan.
    assert "was synced" in dana.submit(changed, named).text
    assert "f50_1" in stored(console)


@pytest.mark.parametrize("digest", ["x", "0" * 64])
def test_a_forged_plan_confirms_nothing(console, dana, path, digest):
    plan = upload(dana, path, range(1, FIELDS))

    assert dana.submit(plan, {"plan": digest}).status == 409
    assert len(stored(console)) == FIELDS


def test_a_removed_field_is_restored_on_the_page_of_its_history(console, dana, path):
    field_id = stored(console)["f0"]
    synced = dana.submit(upload(dana, path, range(1, FIELDS)))
    assert "Restore removed fields" in synced.links
    page = dana.get(f"{console.fields}/{field_id}/history")
    assert "The next sync removes it again" in page.text

    shown = dana.follow(dana.submit(page))

    assert "The field F0 was restored." in shown.text
    assert stored(console)["f0"] == field_id
    newest = HistoryQuery(descending=True, limit=1)
    (record,) = console.core.fields.list_changes(console.acme.id, newest).records
    assert (record.operation, record.author.name) == (RecordedOperation.RESTORED, EMAIL)


def test_a_field_of_a_deleted_integration_can_not_be_restored(console, dana, path):
    field_id = stored(console)["f0"]
    dana.submit(dana.get(f"{path}/delete"))

    page = dana.get(f"{console.fields}/{field_id}/history")

    assert "The integration of this field was deleted" in page.text
    assert "Restore field" not in page.html
    response = dana.post(f"{console.fields}/{field_id}/restore", page.form().inputs)
    assert response.status == 404
    assert stored(console) == {}


def test_the_removals_of_each_sync_are_restored_together(console, dana, path):
    before = stored(console)
    for first in (1, 3):
        dana.submit(upload(dana, path, range(first, FIELDS)))
        console.clock.advance(minutes=1)
    page = dana.get(f"{path}/removed")
    newest, oldest = (form for form in page.forms if "fields" in dict(form.inputs))
    assert newest.value("fields").split() == [str(before[key]) for key in ("f1", "f2")]
    assert oldest.value("fields") == str(before["f0"])

    again = dana.follow(dana.post(f"{path}/removed", newest.inputs))
    assert "2 fields of Main audience were restored." in again.text
    last = dana.follow(dana.submit(dana.get(f"{path}/removed")))
    assert "1 field of Main audience was restored." in last.text
    assert stored(console) == before
    assert "No field is removed" in dana.get(f"{path}/removed").text


def test_all_fields_of_a_removal_are_restored_or_none(console, dana, path):
    dana.submit(upload(dana, path, range(2, FIELDS)))
    page = dana.get(f"{path}/removed")
    draft = FieldDraft(name="F1", data_type=DataType.TEXT)
    holder = console.core.fields.create_field(console.acme.id, draft)
    before = stored(console)

    taken = dana.submit(page)

    assert taken.status == 409
    assert f"No field was restored. Field {holder.id} has the key of field" in taken.text
    assert stored(console) == before
    console.core.fields.delete_field(console.acme.id, holder.id)
    assert dana.submit(taken).status == 303
    assert len(stored(console)) == FIELDS


@pytest.mark.parametrize(("ids", "status"), [("", 303), ("x", 400), ("1", 409), ("999", 404)])
def test_forged_ids_restore_nothing(console, dana, path, ids, status):
    dana.submit(upload(dana, path, range(2, FIELDS)))
    before = stored(console)
    console.add_field(name="Shop")
    shop = stored(console)["shop"]
    forged = ids if ids != "1" else str(before["f2"])
    page = dana.get(f"{path}/removed")

    assert dana.submit(page, {"fields": forged}).status == status
    assert stored(console) == {**before, "shop": shop}
