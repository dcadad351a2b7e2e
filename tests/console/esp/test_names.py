"""Settings → Integrations → Names."""

from __future__ import annotations

import pytest

from recipient_fields.domain import DataType
from recipient_fields.domain.integrations import EspField, Integration, SetName

from ..browser import Browser, Response
from ..conftest import Console


@pytest.fixture
def audience(console: Console) -> Integration:
    """Return an integration of Mailchimp that has synced one field."""
    first_name = EspField(name="FNAME", label="First name", data_type=DataType.TEXT)
    return console.add_integration("mailchimp", "Audience", first_name)


@pytest.fixture
def path(console: Console, audience: Integration) -> str:
    return f"{console.settings}/integrations/{audience.id}/names"


def submit(browser: Browser, page: Response, key: str, name: str, **others: str) -> Response:
    """Submit the form that sets a name."""
    changes = {"key": key, "name": name, **others, "action": "set"}
    inputs = dict(page.form("name").inputs) | changes
    return browser.post(page.path, list(inputs.items()))


def test_a_name_is_set_and_removed(console, dana, path):
    console.add_field(key="loyalty_tier", name="Loyalty tier")
    page = dana.get(
        dana.get(path.removesuffix("/names")).links["Show or set what fields are called here"]
    )
    assert "Loyalty tier loyalty_tier None Set the name LOYALTY_TI No name" in page.text
    assert "FNAME" not in page.text.partition("State")[2]

    page = dana.follow(submit(dana, dana.get(f"{path}?key=loyalty_tier"), "loyalty_tier", "TIER"))

    assert "The name of loyalty_tier at Audience was set to TIER." in page.text
    assert "Loyalty tier loyalty_tier TIERset here Missing" in page.text
    page = dana.follow(dana.submit(page, press=("action", "remove")))
    assert "The name of loyalty_tier at Audience is no longer set." in page.text
    assert "Loyalty tier loyalty_tier None Set the name LOYALTY_TI No name" in page.text


def test_a_field_without_a_name_links_to_the_form_with_a_free_name(console, dana, audience, path):
    field = console.add_field(key="loyalty_tier", name="Loyalty tier")
    content = dana.get(f"/console/o/{console.acme.id}/content")
    inputs = {"content": "{{recipient.loyalty_tier}}", "target": str(audience.id)}
    refused = dana.submit(content, inputs)
    for shown in (dana.get(f"{console.fields}/{field.id}"), refused):
        assert "such as LOYALTY_TI." in shown.text
        assert "--set" not in shown.text
        link = shown.links["Set the name LOYALTY_TI"]
        assert link == f"{path}?key=loyalty_tier&name=LOYALTY_TI"
    form = dict(dana.get(link).form("name").inputs)
    assert (form["key"], form["name"]) == ("loyalty_tier", "LOYALTY_TI")


def test_a_similar_name_that_the_last_sync_found_is_offered(console, dana):
    field = console.add_field(key="shoe_size", name="Shoe size")
    hubspot = console.add_integration("hubspot", "CRM", "shoesize", "city")
    path = f"{console.settings}/integrations/{hubspot.id}/names"
    content = dana.get(f"/console/o/{console.acme.id}/content")
    inputs = {"content": "{{recipient.shoe_size}}", "target": str(hubspot.id)}
    listed = dana.get(path)
    assert "shoe_sizeThe last sync found shoesize" in listed.text
    state = "is shoe_size at HubSpot (the last sync did not find it, but shoesize)."
    shown = [
        dana.get(f"{console.fields}/{field.id}"),
        dana.submit(content, inputs),
        dana.submit(content, {**inputs, "allow_mistakes": "true"}),
    ]
    assert [state in each.text for each in shown] == [True] * 3
    assert [each.status for each in shown] == [200, 422, 200]
    for page in (listed, *shown):
        assert page.links["Set the name shoesize"] == f"{path}?key=shoe_size&name=shoesize"
    form = dana.get(f"{path}?key=shoe_size&name=shoesize")
    page = dana.follow(submit(dana, form, "shoe_size", "shoesize"))
    assert "Shoe size shoe_size shoesizeset here Found" in page.text


def test_a_choice_between_names_is_ambiguous(console, dana):
    console.add_field(key="shop_size", name="Shop size")
    klaviyo = console.add_integration("klaviyo", "Store", "shop size", "Shop Size")
    page = dana.get(f"{console.settings}/integrations/{klaviyo.id}/names")
    assert "shop_size Shop SizeThe last sync found shop size Ambiguous" in page.text


def test_a_viewer_has_no_link_to_the_form(console, viewer, audience):
    field = console.add_field(key="loyalty_tier", name="Loyalty tier")
    page = viewer.get(f"{console.fields}/{field.id}")
    assert "such as LOYALTY_TI." in page.text
    assert "Set the name LOYALTY_TI" not in page.text


@pytest.mark.parametrize(
    ("key", "name", "message"),
    [
        ("loyalty_tie", "TIER", "Did you mean loyalty_tier?"),
        ("fname", "TIER", "Key of the field: This field was synced from this integration"),
        ("loyalty_tier", "loyalty tier", "Name: A Mailchimp tag is 1 to 10 capital letters"),
        ("loyalty_tier", "SHOP", "Name: The field shop has this name at the integration."),
    ],
)
def test_a_wrong_name_is_reported_at_its_input(console, dana, path, audience, key, name, message):
    console.add_field(key="loyalty_tier")
    console.add_field(key="shop")
    console.core.integrations.set_names(console.acme.id, audience.id, {"shop": SetName("SHOP")})

    page = submit(dana, dana.get(path), key, name)

    assert page.status == 422
    assert message in page.text
    assert page.form("name").value("key") == key
    assert page.form("name").value("name") == name
    stored = console.core.integrations.get_integration(console.acme.id, audience.id)
    assert set(stored.names.values()) == {SetName("SHOP")}


def test_a_custom_field_can_have_the_name_of_a_standard_field(console, dana):
    field = console.add_field(key="nickname")
    emails = console.add_integration("braze", "Emails")
    path = f"{console.settings}/integrations/{emails.id}/names"

    page = dana.follow(submit(dana, dana.get(path), "nickname", "first_name", custom="yes"))

    assert "first_nameset here, as a custom field Assumed" in page.text
    stored = console.core.integrations.get_integration(console.acme.id, emails.id)
    assert stored.names == {field.id: SetName("first_name", custom=True)}


def test_the_change_has_its_author_in_the_audit_log(console, dana, path, caplog):
    console.add_field(key="loyalty_tier")

    submit(dana, dana.get(path), "loyalty_tier", "TIER")

    assert "Name of loyalty_tier at integration 1 set: by dana@acme.example, name TIER\n" in (
        caplog.text
    )
