"""Creating, editing and deleting a manual field."""

from __future__ import annotations

from datetime import timedelta

import pytest

from recipient_fields.domain import (
    ADMINISTRATOR,
    API,
    AllowedValues,
    Author,
    DataType,
    FieldChanges,
    Operation,
    RecipientField,
    Source,
    decide,
)

from ...support.interruptions import delete_integrations_after_a_taken_key
from ..browser import Browser, Response
from ..conftest import Console
from ..hostile_texts import HOSTILE


def stored(console: Console) -> tuple[RecipientField, ...]:
    return console.core.fields.list_fields(console.acme.id).fields


def new(console: Console, browser: Browser) -> Response:
    return browser.get(f"{console.fields}/new")


def on_enter(page: Response) -> tuple[str, str]:
    """Return the button that a browser presses on Enter in a text box: the first one."""
    return page.form().buttons[0]


def test_a_field_is_created_with_all_members(console, dana):
    page = new(console, dana)
    page = dana.submit(page, {"data_type": "number"}, press=("action", "add"))

    created = dana.submit(
        page,
        {
            "name": " Shoe size ",
            "key": "size",
            "data_type": "number",
            "allowed_value": ["36", "37.5", "", "38.0"],
            "custom_insertion_code": "*|SIZE|*",
            "custom_value_expression": "SIZE",
        },
    )

    (field,) = stored(console)
    assert created.location == f"{console.fields}/{field.id}"
    assert (field.name, field.key, field.data_type.value) == ("Shoe size", "size", "number")
    assert field.allowed_values is not None
    assert field.allowed_values.values == (36, 37.5, 38)
    assert (field.custom_insertion_code, field.custom_value_expression) == ("*|SIZE|*", "SIZE")
    assert field.insertable
    assert field.origin.source is Source.MANUAL
    shown = dana.follow(created)
    assert "The field Shoe size was created." in shown.text
    assert "was created" not in dana.get(created.location).text


def test_every_violation_is_next_to_its_input_and_the_input_is_preserved(console, dana):
    entered = {
        "name": "",
        "key": "Preferred-Store",
        "allowed_value": ["Berlin", "Hamburg", "Berlin", "x" * 300],
        "insertable": [],
        "custom_insertion_code": "y" * 10_001,
        "custom_value_expression": " \r\n ",
    }

    page = dana.submit(new(console, dana), entered)

    assert page.status == 422
    assert stored(console) == ()
    assert "The field was not created: correct 6 values" in page.text
    assert [path for path in page.links.values() if path.startswith("#")] == [
        "#main",
        "#name",
        "#key",
        "#allowed_value-3",
        "#allowed_value-4",
        "#custom_insertion_code",
        "#custom_value_expression",
    ]
    assert "List each value once. Value 1 is the same." in page.text
    form = page.form()
    assert form.value("key") == "Preferred-Store"
    assert form.values("allowed_value") == entered["allowed_value"]
    assert form.value("custom_insertion_code") == entered["custom_insertion_code"]
    assert form.values("insertable") == []
    anchors = {attributes["id"] for _, attributes in page.tags if "id" in attributes}
    for tag, attributes in page.tags:
        if attributes.get("aria-invalid"):
            assert set((attributes["aria-describedby"] or "").split()) <= anchors, tag
    for path in page.links.values():
        assert not path.startswith("#") or path[1:] in anchors


def test_a_suggested_key_is_accepted_with_a_button(console, dana):
    page = dana.submit(new(console, dana), {"name": "Store", "key": "Preferred-Store"})
    assert "Did you mean preferred_store? Use this key" in page.text
    button = next(b for b in page.form().buttons if b[1].startswith("use-key:"))

    accepted = dana.submit(page, press=button)

    assert accepted.form().value("key") == "preferred_store"
    assert accepted.form().value("name") == "Store"
    dana.submit(accepted)
    assert stored(console)[0].key == "preferred_store"


def test_a_taken_key_links_to_its_field(console, dana):
    taken = console.add_field(API, key="city")

    page = dana.submit(new(console, dana), {"name": "City"})

    assert page.status == 422
    assert "Another field has the key city. Use another key, or open that field." in page.text
    assert page.links["Open the field with this key"] == f"{console.fields}/{taken.id}"
    assert page.form().value("name") == "City"


def test_the_key_of_a_synced_field_is_shown_with_its_esp_names_if_it_still_exists(
    console, dana, monkeypatch
):
    console.add_integration("braze", "Emails", "City")

    page = dana.submit(new(console, dana), {"name": "City"})

    assert page.status == 422
    assert "Its names there: City at Emails." in page.text
    assert "Open the field with this key" in page.links

    delete_integrations_after_a_taken_key(monkeypatch, console.core, console.acme.id)
    page = dana.submit(page)

    assert page.status == 422
    assert "A synced field has this key" in page.text
    assert console.core.fields.list_fields(console.acme.id).fields == ()


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("Имя", "A key can be derived only from letters a-z"),
        ("Null", "This key is reserved. Choose another key."),
    ],
)
def test_a_name_without_a_key_needs_one(console, dana, name, message):
    page = dana.submit(new(console, dana), {"name": name})

    assert message in page.text
    assert "#key" in page.links.values()


@pytest.mark.parametrize(
    ("data_type", "value", "message"),
    [
        ("number", "1,5", "A number field requires a number, such as 1.5."),
        ("boolean", "yes", "A boolean field has no allowed values. Remove them"),
        ("color", "red", "Use one of text, number"),
    ],
)
def test_allowed_values_fit_the_data_type(console, dana, data_type, value, message):
    entered = {"name": "City", "data_type": data_type, "allowed_value": [value]}

    page = dana.submit(new(console, dana), entered)

    assert page.status == 422
    assert message in page.text
    assert page.form().values("allowed_value") == [value]


@pytest.mark.parametrize(
    ("action", "expected"),
    [
        ("add", ["a", "b", "c", ""]),
        ("remove:1", ["b", "c"]),
        ("remove:3", ["a", "b"]),
        ("up:3", ["a", "c", "b"]),
        ("down:1", ["b", "a", "c"]),
        ("up:1", ["a", "b", "c"]),
        ("down:3", ["a", "b", "c"]),
        ("paste", ["a", "b", "c"]),
        ("add-pasted", ["a", "b", "c", "d", "e f"]),
    ],
)
def test_the_list_is_edited_without_a_script(console, dana, action, expected):
    entered = {
        "name": "",
        "key": "K!",
        "data_type": "date",
        "allowed_value": ["a", "b", "c"],
        "pasted": " d\r\n\r\ne f \r\n",
    }

    page = dana.submit(new(console, dana), entered, press=("action", action))

    assert page.status == 200
    assert page.form().values("allowed_value") == expected
    assert (page.form().value("key"), page.form().value("data_type")) == ("K!", "date")
    assert ("pasted" in dict(page.form().inputs)) is (action != "add-pasted")
    assert stored(console) == ()


@pytest.mark.parametrize(
    "action",
    ["remove:9", "up:0", "down:x", "remove:-1", "remove:²", "drop", f"remove:{'9' * 5_000}"],
    ids=lambda action: action[:10],
)
def test_an_unknown_button_saves_as_the_form_says(console, dana, action):
    dana.submit(new(console, dana), {"name": "City"}, press=("action", action))

    assert len(stored(console)) == 1


def test_the_enter_key_saves_a_form_without_allowed_values(console, dana):
    page = new(console, dana)

    dana.submit(page, {"name": "City"}, press=on_enter(page))

    assert len(stored(console)) == 1


def test_the_enter_key_adds_a_value_to_a_list_of_allowed_values(console, dana):
    field = console.add_field(allowed_values=["a"])

    for path in (f"{console.fields}/new", f"{console.fields}/{field.id}/edit"):
        page = dana.submit(dana.get(path), press=("action", "add"))
        page = dana.submit(page, {"name": "Tier", "allowed_value": ["gold"]}, press=on_enter(page))
        page = dana.submit(page, {"allowed_value": ["gold", "silver"]}, press=on_enter(page))

        assert page.form().values("allowed_value") == ["gold", "silver", ""]
        focused = [attributes.get("id") for _, attributes in page.tags if "autofocus" in attributes]
        assert focused == ["allowed_value-3"]
    assert stored(console) == (field,)


def test_a_thousand_values_fit_into_a_form(console, dana):
    values = [f"Value {number}" for number in range(1_001)]
    page = new(console, dana)

    refused = dana.submit(page, {"name": "City", "allowed_value": values})
    dana.submit(refused, {"pasted": ""})

    assert refused.status == 422
    assert "List at most 1,000 values." in refused.text
    assert refused.form().values("allowed_value") == values[:1_000]
    assert refused.form().value("pasted") == "Value 1000"
    (field,) = stored(console)
    assert field.allowed_values is not None
    assert len(field.allowed_values.values) == 1_000


@pytest.mark.parametrize("press", [None, ("action", "add-pasted")], ids=["save", "add"])
def test_a_pasted_list_that_is_too_long_is_kept(console, dana, press):
    values = [f"Value {number}" for number in range(1_500)]
    page = dana.submit(new(console, dana), {"name": "City"}, press=("action", "paste"))

    page = dana.submit(page, {"pasted": "\r\n".join(values)}, press=press)
    again = dana.submit(page)

    for each in (page, again):
        kept = [*each.form().values("allowed_value"), *each.form().value("pasted").split("\r\n")]
        assert kept == values
    assert again.status == 422
    assert dana.submit(again, {"pasted": ""}).status == 303


@pytest.mark.parametrize("page", ["/new", "/1/edit"])
def test_pasted_values_are_saved_with_those_of_the_list(console, dana, page):
    console.add_field(allowed_values=["a"])
    form = dana.submit(dana.get(f"{console.fields}{page}"), press=("action", "paste"))
    entered = {"name": "City", "allowed_value": ["a"], "pasted": "b\r\n\r\nc "}

    refused = dana.submit(form, {**entered, "pasted": "b\r\nb"})
    dana.submit(form, entered)

    assert refused.form().values("allowed_value") == ["a", "b", "b"]
    assert "pasted" not in dict(refused.form().inputs)
    saved = stored(console)[-1]
    assert saved.name == "City"
    assert saved.allowed_values == AllowedValues(DataType.TEXT, ["a", "b", "c"])


def test_a_form_without_its_own_token_is_rejected(console, dana):
    page = new(console, dana)

    assert dana.submit(page, {"name": "City", "form": []}).status == 400
    assert dana.submit(page, {"name": "City", "form": "x"}).status == 303
    assert stored(console) == ()


@pytest.mark.parametrize("text", HOSTILE.values(), ids=list(HOSTILE))
def test_hostile_texts_survive_the_form(console, dana, text):
    page = dana.submit(new(console, dana), {"name": text, "key": "K!", "allowed_value": [text]})
    assert page.form().value("name") == text
    members = {
        "key": "hostile",
        "custom_insertion_code": text,
        "custom_value_expression": text,
    }

    shown = dana.follow(dana.submit(page, members))
    edited = dana.submit(dana.get(shown.links["Edit field"]))

    (field,) = stored(console)
    assert field.version == 1  # Saving without a change keeps everything.
    assert edited.status == 303
    assert field.custom_insertion_code == text
    assert "was created." in shown.text


def test_an_edit_changes_what_can_change(console, dana):
    field = console.add_field(allowed_values=["a", "b"], custom_insertion_code="*|A|*")
    page = dana.get(f"{console.fields}/{field.id}/edit")
    assert page.form().values("allowed_value") == ["a", "b"]
    assert "key" not in dict(page.form().inputs)

    changes = {
        "name": "Store",
        "allowed_value": [],
        "custom_insertion_code": "",
        "custom_value_expression": "A",
        "insertable": [],
        "key": "other",
        "data_type": "number",
    }
    shown = dana.follow(dana.submit(page, changes))

    (changed,) = stored(console)
    assert "The field Store was changed." in shown.text
    assert (changed.name, changed.key, changed.data_type.value) == ("Store", "shop", "text")
    assert changed.allowed_values is None
    assert (changed.custom_insertion_code, changed.custom_value_expression) == (None, "A")
    assert not changed.insertable


def test_all_violations_of_an_edit_are_reported_at_once(console, dana):
    field = console.add_field(data_type="number")
    page = dana.get(f"{console.fields}/{field.id}/edit")

    refused = dana.submit(page, {"name": " ", "allowed_value": ["1", "x"]})

    assert refused.status == 422
    assert "The field was not saved: correct 2 values" in refused.text
    assert {"#name", "#allowed_value-2"} <= set(refused.links.values())
    assert stored(console) == (field,)


def test_line_breaks_of_a_code_survive_an_edit(console, dana):
    code, expression = "\n{% if a %}\r\nb\rc\n", "\r\na\n"
    field = console.add_field(custom_insertion_code=code, custom_value_expression=expression)

    dana.submit(dana.get(f"{console.fields}/{field.id}/edit"), {"name": "Store"})

    (changed,) = stored(console)
    assert changed.name == "Store"
    assert (changed.custom_insertion_code, changed.custom_value_expression) == (code, expression)


def test_line_breaks_are_stored_as_line_feeds(console, dana):
    dana.submit(new(console, dana), {"name": "City", "custom_insertion_code": "a\r\nb"})

    assert stored(console)[0].custom_insertion_code == "a\nb"


def test_a_concurrent_change_is_shown_and_not_overwritten(console, dana):
    field = console.add_field(name="Shop", allowed_values=["a"])
    page = dana.get(f"{console.fields}/{field.id}/edit")
    console.clock.advance(minutes=5)
    manual = console.core.fields.by(Author(ADMINISTRATOR))
    theirs = manual.update_field(
        console.acme.id, field.id, FieldChanges(name="Theirs", insertable=False)
    )

    conflict = dana.submit(page, {"name": "Mine"})

    assert conflict.status == 409
    assert "Another administrator changed this field on 20 Nov 2026, 09:20 UTC" in conflict.text
    assert "Name Theirs Mine" in conflict.text
    assert "Insertable No Yes" in conflict.text
    assert "Allowed values a a" not in conflict.text
    assert conflict.form().value("name") == "Mine"
    assert stored(console) == (theirs,)
    dana.submit(conflict)
    assert stored(console)[0].name == "Mine"


def test_an_edit_that_is_submitted_twice_changes_the_field_once(console, dana):
    field = console.add_field()
    page = dana.get(f"{console.fields}/{field.id}/edit")

    first = dana.submit(page, {"name": " Store "})
    second = dana.submit(page, {"name": " Store "})

    assert first.location == second.location
    assert "The field Store was changed." in dana.follow(second).text
    assert stored(console)[0].version == 2


def test_a_field_that_was_deleted_during_its_edit_is_missing(console, dana):
    field = console.add_field()
    page = dana.get(f"{console.fields}/{field.id}/edit")
    console.core.fields.by(Author(ADMINISTRATOR)).delete_field(console.acme.id, field.id)

    assert dana.submit(page, {"name": "Mine"}).status == 404


@pytest.mark.parametrize("page", ["edit", "delete"])
@pytest.mark.parametrize("source", ["api", "integration"])
def test_a_read_only_field_has_no_form_and_the_page_shows_the_reason(console, dana, source, page):
    field = console.add_field(API) if source == "api" else console.sync_field()
    decision = decide(ADMINISTRATOR, Operation.UPDATE, field.origin)
    manual = console.add_field(key="manual")
    form = dana.get(f"{console.fields}/{manual.id}/{page}")

    shown = dana.get(f"{console.fields}/{field.id}/{page}")
    posted = dana.post(f"{console.fields}/{field.id}/{page}", form.form().inputs)

    assert shown.status == posted.status == 403
    assert getattr(decision, "reason", "?") in shown.text
    assert getattr(decision, "reason", "?") in posted.text
    assert len(stored(console)) == 2


def test_deleting_needs_one_confirmation_that_names_the_field(console, dana):
    field = console.add_field(name="Shoe size")
    page = dana.get(dana.get(f"{console.fields}/{field.id}").links["Delete field"])
    assert "Delete the field Shoe size?" in page.text
    assert "{{recipient.shoe_size}}" in page.text
    assert stored(console) == (field,)

    after = dana.follow(dana.submit(page))

    assert "The field Shoe size was deleted." in after.text
    assert stored(console) == ()


def test_a_changed_field_is_not_deleted_before_it_was_seen(console, dana):
    field = console.add_field()
    page = dana.get(f"{console.fields}/{field.id}/delete")
    console.clock.now += timedelta(minutes=1)
    console.core.fields.by(Author(ADMINISTRATOR)).update_field(
        console.acme.id, field.id, FieldChanges(name="Theirs")
    )

    conflict = dana.submit(page)

    assert conflict.status == 409
    assert "Another administrator changed this field on 20 Nov 2026, 09:16 UTC" in conflict.text
    assert "Delete the field Theirs?" in conflict.text
    assert len(stored(console)) == 1
    dana.submit(conflict)
    assert stored(console) == ()


def test_rare_members_are_folded_unless_they_are_used_or_wrong(console, dana):
    page = dana.get(f"{console.fields}/new")
    assert [a for tag, a in page.tags if tag == "details"] == [{"class": "row"}]

    for inputs in ({"key": "Not a key"}, {"name": "X", "custom_insertion_code": " " * 3_000}):
        page = dana.submit(page, {"name": "City", **inputs})
        assert page.status == 422
        assert [a for tag, a in page.tags if tag == "details"] == [{"class": "row", "open": None}]
