"""The commands `fields codes`, `fields show` and `fields list --counterparts`."""

from __future__ import annotations

import json
import re

import pytest

from recipient_fields.application import Core
from recipient_fields.application.content.code_documents import render_codes
from recipient_fields.domain import FieldKey, OrganizationId
from recipient_fields.domain.esp import BUILT_IN, Esp

from ...support.fields import add_field
from ...support.integrations import add_integration

ACME = ("--organization", 1)


@pytest.fixture(autouse=True)
def _fields(core: Core, acme: OrganizationId) -> None:
    """Create a field that Braze has by another name, and that Mailchimp lacks."""
    add_field(core, acme, "Shop")
    add_integration(core, acme, "braze", "My braze", "Shop")
    add_integration(core, acme, "mailchimp", "My mailchimp", "FNAME")


def test_the_codes_at_each_integration_precede_those_at_other_esps(cli):
    run = cli("fields", "codes", "shop", *ACME)
    rows = [" | ".join(re.split(" {2,}", line)) for line in run.table()]
    assert rows[:3] == [
        "INTEGRATION | ESP | ESP NAME | FROM | STATE | INSERTION CODE | VALUE EXPRESSION | REASON",
        (
            "1 My braze | braze | Shop | sync | found | {{custom_attribute.${Shop}}} |"
            " custom_attribute.${Shop} | -"
        ),
        "2 My mailchimp | mailchimp | SHOP | convention | missing | *|SHOP|* | SHOP | -",
    ]
    others = [row.split(" | ")[:2] for row in rows[3:]]
    assert others == [
        ["-", esp] for esp in BUILT_IN.esps if esp not in {Esp("braze"), Esp("mailchimp")}
    ]


def test_a_missing_name_shows_how_to_create_the_field_there(cli):
    assert cli("fields", "codes", "shop", *ACME).messages() == (
        "SHOP is missing at integration 2 My mailchimp. To create it: Add a merge field with the"
        " tag SHOP to the audience: POST /3.0/lists/{list_id}/merge-fields. A third party describes"
        " this request.\n"
        "Salesforce Marketing Cloud needs this code before the others:"
        ' %%[ SET @shop = AttributeValue("shop") ]%%\n'
    )


def test_the_document_is_that_of_the_http_api(cli, core, acme):
    document = cli("fields", "codes", "1", *ACME, "--json").document()
    assert document == render_codes(core.content.list_codes(acme, FieldKey("shop")))


def test_a_field_is_shown_with_its_members_and_its_codes(cli):
    members, codes = cli("fields", "show", "shop", *ACME).out.split("\n\n")
    assert members.startswith("MEMBER ")
    assert codes == cli("fields", "codes", "shop", *ACME).out


def test_the_list_has_each_field_once_unless_counterparts_are_requested(cli):
    def listed(*options: str) -> tuple[list[str], str]:
        run = cli("fields", "list", *ACME, "--json", *options)
        return [each["key"] for each in json.loads(run.out)["recipient_fields"]], run.err

    note = "Without 1 counterpart at integrations. To list all fields, add --counterparts.\n"
    assert listed() == (["shop", "fname"], note)
    assert listed("--counterparts") == (["shop", "shop_1", "fname"], "")
    assert listed("--as-of", "2100-01-01T00:00:00Z") == (["shop", "shop_1", "fname"], "")


def test_the_key_of_a_synced_field_already_works(cli):
    create = ("fields", "create", *ACME, "--name", "First name", "--data-type", "text")
    assert cli(*create, "--key", "fname").failure() == (
        "A synced field has this key, and already works at every integration. Use it, or choose"
        " another key. Its names there: fname at My braze, FNAME at My mailchimp."
    )
    taken = cli(*create, "--key", "shop").failure()
    assert taken == "A recipient field with this key already exists. Choose another key."
