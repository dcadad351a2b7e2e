"""The command `integrations match`."""

from __future__ import annotations

import pytest

from recipient_fields.application import Core
from recipient_fields.domain import DataType, OrganizationId
from recipient_fields.domain.integrations import EspField, Integration

from ...support.command_line import CommandLine, Run
from ...support.fields import add_field
from ...support.integrations import add_integration

CREATION = (
    "Add the custom attribute birth_place in the dashboard, or set it for a user: POST"
    " /users/track. No page of the vendor confirms this: try it in your account first."
)
TABLE = [
    "KEY           ESP NAME      REASON",
    "visits        visits        same name",
    "first_name    first_name    standard field",
    "loyalty_tier  LoyaltyTier   similar name",
    "points        Points total  similar name, with the type text",
    "size          SHOE_KIND     same type and values",
    f"birth_place   -             not found. {CREATION}",
]


@pytest.fixture
def braze(core: Core, acme: OrganizationId) -> Integration:
    """Create six fields, and an integration that has synced four of others."""
    for name in ("Birth place", "First name", "Loyalty tier"):
        add_field(core, acme, name)
    add_field(core, acme, "Points", data_type=DataType.NUMBER)
    add_field(core, acme, "Size", allowed_values=("S", "M", "L"))
    add_field(core, acme, "Visits", data_type=DataType.NUMBER)
    return add_integration(
        *(core, acme, "braze", "App"),
        EspField(name="visits", data_type=DataType.NUMBER),
        "LoyaltyTier",
        EspField(name="Points total", label="Points", data_type=DataType.TEXT),
        EspField(name="SHOE_KIND", data_type=DataType.TEXT, allowed_values=("L", "M", "S")),
    )


@pytest.fixture
def match(cli: CommandLine, acme: OrganizationId, braze: Integration):
    def run(*arguments: str) -> Run:
        return cli("integrations", "match", braze.id, "--organization", acme, *arguments)

    return run


def names(core: Core, braze: Integration) -> set[str]:
    stored = core.integrations.get_integration(braze.organization_id, braze.id)
    return {each.name for each in stored.names.values()}


def test_each_field_has_a_row_with_the_reason_and_the_best_are_first(match, core, braze):
    assert match().table() == TABLE
    assert names(core, braze) == set()


def test_exact_names_are_accepted_together_and_similar_ones_by_name(match, core, braze):
    accepted = match("--accept-exact", "--accept", "loyalty_tier=LoyaltyTier")
    assert accepted.err == "Names at integration 1, App: 3 set.\n"
    assert names(core, braze) == {"visits", "first_name", "LoyaltyTier"}
    assert [line.split("  ")[0] for line in accepted.table()[1:]] == [
        *("points", "size", "birth_place", "first_name", "loyalty_tier", "visits")
    ]
    assert accepted.table()[-1] == "visits        visits        set already"
    assert match("--accept-exact").err == ""


@pytest.mark.parametrize("accepted", ["points=SHOE_KIND", "visits=Visits", "other=visits"])
def test_only_proposals_are_accepted(match, core, braze, accepted):
    key, name = accepted.split("=")
    message = match("--accept-exact", "--accept", accepted).usage_error()
    assert f"{name} is not proposed for {key}. To set it, use `integrations names`." in message
    assert names(core, braze) == set()


def test_a_document_has_the_same_rows(match):
    matches = match("--json").document()["matches"]
    assert matches[0] == {
        "key": "visits",
        "esp_field_name": "visits",
        "reason": "same_name",
        "creation": None,
    }
    assert matches[-1] == {
        "key": "birth_place",
        "esp_field_name": None,
        "reason": "not_found",
        "creation": CREATION,
    }
