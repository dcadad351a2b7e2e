"""The proposals of names on the page of an integration."""

from __future__ import annotations

import pytest

from recipient_fields.domain.integrations import Integration, SetName

from ..browser import Browser, Response
from ..conftest import Console


@pytest.fixture
def braze(console: Console) -> Integration:
    """Return an integration of Braze that has synced two fields, and add four fields."""
    for key in ("tier", "first_name", "shop_size", "points"):
        console.add_field(key=key, name=key.replace("_", " ").capitalize())
    return console.add_integration("braze", "App", "tier", "ShopSize")


@pytest.fixture
def path(console: Console, braze: Integration) -> str:
    return f"{console.settings}/integrations/{braze.id}"


def names(console: Console, braze: Integration) -> set[str]:
    stored = console.core.integrations.get_integration(console.acme.id, braze.id)
    return {each.name for each in stored.names.values()}


def press(browser: Browser, page: Response, *matches: str) -> Response:
    """Press the button below the proposals with these chosen, or with those that are chosen."""
    form = page.form("match")
    assert form.action is not None
    inputs = [pair for pair in form.inputs if pair[0] != "match" or not matches]
    return browser.post(form.action, [*inputs, *(("match", each) for each in matches)])


def test_exact_names_are_chosen_and_the_best_are_first(console, dana, braze, path):
    page = dana.get(path)
    assert (
        "Tier tier tier Same name First name first_name first_name Standard field Shop size"
        " shop_size ShopSize Similar name Points points None Not foundTo create it: Add the custom"
        " attribute points in the dashboard"
    ) in page.text
    done = dana.follow(press(dana, page))
    assert "2 names at App were set." in done.text
    assert names(console, braze) == {"tier", "first_name"}
    assert "Shop size shop_size ShopSize Similar name Points points None" in done.text
    assert "Tier tier tier Set already" in done.text


def test_a_similar_name_is_set_if_a_person_chooses_it(console, dana, braze, path):
    done = dana.follow(press(dana, dana.get(path), "shop_size=ShopSize"))
    assert "1 name at App was set." in done.text
    assert names(console, braze) == {"ShopSize"}


def test_no_name_is_set_if_another_field_has_one_of_them_now(console, dana, braze, path):
    page = dana.get(path)
    console.core.integrations.set_names(console.acme.id, braze.id, {"points": SetName("tier")})
    refused = press(dana, page)
    assert refused.status == 422
    assert "The fields have changed, so no name was set" in refused.text
    assert "tier: The field points has this name at the integration." in refused.text
    assert names(console, braze) == {"tier"}


def test_a_viewer_sees_the_proposals_and_sets_none(console, dana, viewer, braze, path):
    page = viewer.get(path)
    assert "Shop size shop_size ShopSize Similar name" in page.text
    assert "match" not in {attributes.get("name") for _, attributes in page.tags}
    form = [pair for pair in dana.get(path).form("match").inputs if pair[0] == "match"]
    inputs = [*viewer.get(f"{path}/names").forms[0].inputs, *form]
    assert viewer.post(f"{path}/match", inputs).status == 403
    assert names(console, braze) == set()
