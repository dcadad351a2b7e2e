"""The list of fields, and the page of a field."""

from __future__ import annotations

import pytest

from recipient_fields.domain import (
    ADMINISTRATOR,
    API,
    Access,
    DataType,
    Operation,
    decide,
)
from recipient_fields.domain.conditions import check_condition, format_condition, parse_condition
from recipient_fields.domain.esp import BUILT_IN
from recipient_fields.domain.integrations import SetName
from recipient_fields.entrypoints.console.fields.codes import example_conditions
from recipient_fields.entrypoints.console.fields.fields import PAGE_SIZE

from ..browser import Response
from ..conftest import Console


def names(page: Response, console: Console) -> list[str]:
    """Return the names of the listed fields."""
    prefix = f"{console.fields}/"
    return [n for n, path in page.links.items() if path.removeprefix(prefix).isdigit()]


def test_an_empty_organization_shows_what_to_do_next(console, dana, viewer):
    page = dana.get(console.fields)

    assert "Acme has no fields yet" in page.text
    assert dana.get(page.links["New manual field"]).status == 200
    assert {"Add an integration", "Create an API key"} <= page.links.keys()
    assert "Search" not in page.text
    assert "Acme has no fields yet" in viewer.get(console.fields).text
    assert "New manual field" not in viewer.get(console.fields).links


def test_the_list_shows_each_field_with_its_origin(console, dana):
    console.add_field(API, name="City", allowed_values=["Aachen", "Bonn", "Celle", "Demmin", "E"])
    console.add_field(name="Consent", data_type="boolean", insertable=False)
    console.add_field(name="Wrong", custom_insertion_code="{{ a }", custom_value_expression="b")
    console.sync_field()

    page = dana.get(console.fields)

    assert names(page, console) == ["City", "Consent", "First name", "Wrong"]
    assert "city text Aachen, Bonn, Celle, Demmin + 1 more API 20 Nov 2026" in page.text
    assert "Not insertable consent boolean True or false Manual" in page.text
    assert "2 warnings wrong text Any value Manual" in page.text
    assert "fname text Any value Integration Main audience · Mailchimp" in page.text
    assert "4 fields" in page.text


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("q=CIT", ["City", "Velocity"]),
        ("origin=manual", ["Velocity"]),
        ("origin=integration", ["First name"]),
        ("integration=1", ["First name"]),
        ("integration=2", ["City", "First name", "Velocity"]),
        ("q=cit&origin=api&type=text", ["City"]),
        ("origin=x&type=%00&sort=;&integration=x", ["City", "First name", "Velocity"]),
        ("sort=-name", ["Velocity", "First name", "City"]),
        ("sort=created_at", ["City", "Velocity", "First name"]),
    ],
)
def test_filters_and_orders_are_in_the_url(console, dana, query, expected):
    console.add_field(API, name="City")
    console.clock.advance(seconds=1)
    console.add_field(name="Velocity", data_type="number")
    console.clock.advance(seconds=1)
    console.sync_field(name="FNAME")

    page = dana.get(f"{console.fields}?{query}")

    assert names(page, console) == expected


def test_no_match_names_the_filters(console, dana):
    console.add_field(name="City")

    page = dana.get(f"{console.fields}?q=tire&origin=manual&type=text")

    assert "No field matches “tire” with origin Manual and type text" in page.text
    assert names(dana.get(page.links["Clear the filters"]), console) == ["City"]


def test_the_heads_of_the_columns_sort(console, dana):
    console.add_field(name="City")
    console.clock.advance(seconds=1)
    console.add_field(name="Zone")
    page = dana.get(f"{console.fields}?origin=manual")
    assert ("th", "ascending") in [(tag, a.get("aria-sort")) for tag, a in page.tags]
    page = dana.get(page.links["Name"])

    assert names(page, console) == ["Zone", "City"]
    assert "origin=manual" in page.links["Updated"]


@pytest.mark.parametrize("sort", ["name", "-updated_at"])
def test_pages_have_every_field_that_matches_the_filters_once(console, dana, sort):
    count = PAGE_SIZE * 2 + 1
    for number in range(count):
        # A third of the names is equal, so that the order also depends on the ids.
        name = f"&?=/ {number % 30:02}"
        console.add_field(name=name, key=f"field_{number:03}")
        if number % PAGE_SIZE == 0:
            console.add_field(API, name=name, key=f"of_the_api_{number}")
            console.add_field(name=name, key=f"number_{number}", data_type=DataType.NUMBER)

    paths = [f"{console.fields}?sort={sort}&origin=manual&type=text"]
    found: list[str | None] = []
    while paths and len(found) <= count:
        page = dana.get(paths.pop())
        found += [a["href"] for tag, a in page.tags if _is_field(tag, a.get("href"), console)]
        paths += [path for text, path in page.links.items() if text == "Next page"]

    assert len(found) == len(set(found)) == count
    assert f"1 of {count} fields" in page.text
    assert len(names(dana.get(page.links["First page"]), console)) > 1


@pytest.mark.parametrize(
    "position",
    ["after=x&after_id=1&sort=-updated_at", "after=%00&after_id=1", "after_id=0&after=a"],
)
def test_a_position_that_no_page_links_to_is_ignored(console, dana, position):
    console.add_field(name="City")

    assert names(dana.get(f"{console.fields}?{position}"), console) == ["City"]


def test_a_field_shows_all_its_members(console, dana):
    field = console.add_field(
        name="Shoe size",
        data_type="number",
        allowed_values=[36, 37.5],
        insertable=False,
        custom_insertion_code="*|SIZE|*",
        custom_value_expression="SIZE",
    )

    page = dana.get(f"{console.fields}/{field.id}")

    for text in (
        "Own code Insertion code This field is not insertable. Value expression SIZE Copy",
        "Insertion code *|SIZE|* Copy Value expression SIZE Copy",
        "Name Shoe size Key shoe_size Data type number Allowed values 36 37.5 Insertable No",
        f"Origin Manual Id {field.id} Created 20 Nov 2026, 09:15 UTC Updated 20 Nov 2026",
        "The insertion code contains the value expression.",
        "Every opening delimiter has a closing delimiter.",
    ):
        assert text in page.text


def test_warnings_are_those_of_fields_check(console, dana):
    field = console.add_field(custom_insertion_code="{{ a }", custom_value_expression="b")

    page = dana.get(f"{console.fields}/{field.id}")

    assert "2 warnings" in page.text
    assert "The insertion code does not contain the value expression." in page.text
    assert "The insertion code has an opening or closing delimiter without a match." in page.text


def test_a_code_without_an_expression_is_only_checked_for_delimiters(console, dana):
    field = console.add_field(custom_insertion_code="*|A|*")

    page = dana.get(f"{console.fields}/{field.id}")

    assert "The insertion code contains the value expression." not in page.text
    assert "No warnings" in page.text
    assert "Every opening delimiter has a closing delimiter." in page.text


@pytest.mark.parametrize("source", ["api", "integration"])
def test_a_read_only_field_says_why_and_where_it_is_changed(console, dana, source):
    field = console.sync_field() if source == "integration" else console.add_field(API)
    decision = decide(ADMINISTRATOR, Operation.UPDATE, field.origin)

    page = dana.get(f"{console.fields}/{field.id}")

    assert getattr(decision, "reason", "?") in page.text
    assert "Edit field" not in page.links
    assert "Delete field" not in page.links
    if source == "integration":
        assert "edit FNAME in Mailchimp, then sync Main audience." in page.text
    else:
        assert "create an API key with the access Read and write for a program" in page.text
        issue = console.core.administration.issue_key
        issue(console.acme.id, name="Reporting", access=Access.READ_ONLY)
        issue(console.acme.id, name="Checkout")
        page = dana.get(f"{console.fields}/{field.id}")
        assert "To change this field, use a program with the API key Checkout." in page.text


def test_a_field_begins_with_what_content_calls_it_and_with_its_states(console, dana):
    field = console.add_field(key="tier", allowed_values=["gold", "silver"])
    console.add_integration("braze", "Emails", "other")

    page = dana.get(f"{console.fields}/{field.id}")

    text = page.text.partition("Definition")[0]
    assert '{{recipient.tier}} Copy reference {{#if recipient.tier = "gold"}}…{{/if}}' in text
    assert "Missing Braze, Emails: tier" in text
    assert "The last sync found no field tier. Add the custom attribute tier in the" in text
    assert "Assumed: the name follows from the key" in text
    assert page.html.count("<details") >= 2
    hidden = console.add_field(key="hidden", insertable=False)
    page = dana.get(f"{console.fields}/{hidden.id}")
    assert "{{recipient.hidden}}" not in page.text.partition("Definition")[0]


def test_a_field_has_its_code_for_each_integration_and_each_other_esp(console, dana):
    field = console.add_field(key="loyalty_tier")
    emails = console.add_integration("braze", "Emails", "loyalty_tier")
    console.add_integration("klaviyo", "Shop", "Loyalty Tier")
    audience = console.add_integration("mailchimp", "Audience", "FNAME")

    page = dana.get(f"{console.fields}/{field.id}")

    connected, _, others = page.text.partition(
        f"{len(BUILT_IN) - 3} other ESPs that you have not connected"
    )
    assert "Integration Name there State Code" in connected
    braze = "Insertion code {{custom_attribute.${loyalty_tier}}} Copy"
    braze += " Value expression custom_attribute.${loyalty_tier} Copy"
    assert f"BrazeEmails loyalty_tier Found {braze}" in connected
    klaviyo = "Insertion code {{ person|lookup:'Loyalty Tier' }} Copy"
    assert f"KlaviyoShop Loyalty Tier Found {klaviyo}" in connected
    assert "MailchimpAudience None No name The last sync found no field" in connected
    hubspot = "Insertion code {{ contact.loyalty_tier }} Copy"
    assert f"HubSpot loyalty_tier Assumed {hubspot}" in others
    brevo = "Insertion code {{ contact.LOYALTY_TIER }} Copy"
    assert f"Brevo LOYALTY_TIER Assumed {brevo}" in others
    prelude = '%%[ SET @loyalty_tier = AttributeValue("loyalty_tier") ]%%'
    assert f"Copy Once per email, before this code: {prelude}" in others
    assert "Stands for loyalty_tier_1 of Emails" in page.text
    assert page.links["Braze"].endswith(f"/settings/integrations/{emails.id}")
    console.core.integrations.set_names(
        console.acme.id, audience.id, {"loyalty_tier": SetName("TIER")}
    )
    page = dana.get(f"{console.fields}/{field.id}")
    codes = "Insertion code *|TIER|* Copy Value expression TIER Copy"
    assert f"MailchimpAudience TIER Missing {codes}" in page.text
    assert "The last sync found no field TIER. Add a merge field with the tag TIER" in page.text
    names_page = dana.get(page.links["Set another name"])
    assert names_page.form("name").value("key") == "loyalty_tier"


def test_a_counterpart_names_its_definition(console, dana):
    field = console.add_field(key="loyalty_tier", name="Loyalty tier")
    console.add_integration("braze", "Emails", "loyalty_tier")
    counterpart = console.core.fields.list_fields(console.acme.id).fields[-1]

    page = dana.get(f"{console.fields}/{counterpart.id}")

    assert "Loyalty tier stands for this field: {{recipient.loyalty_tier}} works" in page.text
    assert page.links["Loyalty tier"] == f"{console.fields}/{field.id}"


def test_the_list_folds_counterparts_below_their_definitions(console, dana):
    console.add_field(key="loyalty_tier", name="Loyalty tier")
    console.add_integration("braze", "Emails", "loyalty_tier", "City")
    console.add_integration("klaviyo", "Shop", "Loyalty Tier")

    page = dana.get(console.fields)
    everything = dana.get(page.links["show all"])

    assert "loyalty_tier At Braze, Klaviyo (2)" in page.text
    assert "2 fields, and 2 counterparts below them" in page.text
    assert "4 fields" in everything.text
    assert "At Braze" not in everything.text
    assert "2 fields, and 2" in dana.get(everything.links["fold counterparts"]).text
    searched = dana.get(f"{console.fields}?q=tier")
    assert "1 field, and 2 counterparts below them" in searched.text
    assert "3 fields" in dana.get(searched.links["show all"]).text


def test_a_counterpart_has_a_row_if_its_definition_does_not_match_the_filters(console, dana):
    console.add_field(key="loyalty_tier", name="Loyalty tier")
    braze = console.add_integration("braze", "Emails", "loyalty_tier", "City")
    shop = console.add_integration("mailchimp", "Shop", "LEVEL")
    changes = {"loyalty_tier": SetName("LEVEL")}
    console.core.integrations.set_names(console.acme.id, shop.id, changes)

    assert "2 fields" in dana.get(f"{console.fields}?integration={braze.id}").text
    found = dana.get(f"{console.fields}?q=level")
    assert names(found, console) == ["LEVEL"]
    assert "1 field" in found.text


def test_example_conditions_are_shown_for_the_integrations(console, dana):
    field = console.sync_field("FNAME")

    page = dana.get(f"{console.fields}/{field.id}")

    assert 'fname = "example" ESP Code Caveats MailchimpMain audience *|IF:FNAME=example|*' in (
        page.text
    )
    assert "does not document whether comparisons of texts are case-sensitive" in page.text
    conditions = page.text[page.text.index("Conditions") :]
    assert [each.title for each in BUILT_IN if each.title in conditions] == ["Mailchimp"]


def test_without_integrations_there_are_example_conditions_for_all_esps(console, dana):
    field = console.add_field(key="vip", data_type="boolean")

    page = dana.get(f"{console.fields}/{field.id}")

    conditions = page.text[page.text.index("Conditions") :]
    assert [each.title for each in BUILT_IN if each.title not in conditions] == []
    assert "not vip ESP Code Caveats Salesforce Marketing Cloud" in conditions
    assert (
        "Braze {% assign vip_text = custom_attribute.${vip} | downcase %}"
        '{% if vip_text != "true" %}A{% else %}B{% endif %} None' in conditions
    )
    assert "Mailchimp *|IF:VIP=true|*B*|ELSE:|*A*|END:IF|* Mailchimp has no boolean" in conditions
    assert "assumed" not in conditions


def test_a_condition_that_an_esp_can_not_express_shows_the_reason(console, dana):
    field = console.add_field(key="born", data_type="date")

    page = dana.get(f"{console.fields}/{field.id}")

    assert "HubSpot Refused: born: Comparisons of dates are not supported yet" in page.text


@pytest.mark.parametrize(
    ("data_type", "values", "example"),
    [
        ("text", ["gold", "silver"], 'shop = "gold"'),
        ("text", ['it\'s "so"'], 'shop = "it\'s \\"so\\""'),
        ("number", [36, 37.5], "shop >= 36"),
        ("date", ["2026-01-31"], 'shop >= date "2026-01-31"'),
        ("datetime", ["2026-01-31T10:00:00Z"], 'shop >= date "2026-01-31T10:00:00.000Z"'),
        ("datetime", None, 'shop >= date "2026-11-20T09:15:00.000Z"'),
        ("boolean", None, "not shop"),
    ],
)
def test_example_conditions_fit_the_type_and_the_allowed_values(
    console, dana, data_type, values, example
):
    field = console.add_field(data_type=data_type, allowed_values=values)

    page = dana.get(f"{console.fields}/{field.id}")

    assert f"{example} ESP Code Caveats" in page.text
    for condition in example_conditions(field):
        check_condition(condition, [field])
        assert parse_condition(format_condition(condition)) == condition


def test_a_multi_line_code_is_shown_verbatim(console, dana):
    code = "{% if a %}\n  {{ a }}\n{% endif %}"
    field = console.add_field(custom_insertion_code=code)

    assert code in dana.get(f"{console.fields}/{field.id}").html


def _is_field(tag: str, path: str | None, console: Console) -> bool:
    return tag == "a" and (path or "").removeprefix(f"{console.fields}/").isdigit()
