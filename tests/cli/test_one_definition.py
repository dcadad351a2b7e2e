"""The story of the README through the command line: one definition works in each ESP."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from recipient_fields.application import Core
from recipient_fields.domain import (
    ADMINISTRATOR,
    API,
    Author,
    DataType,
    FieldDraft,
    OrganizationId,
)
from recipient_fields.domain.esp import Esp

from ..support.command_line import CommandLine, Run

CONTENT = (
    'Your tier: {{recipient.loyalty_tier}}{{#if recipient.loyalty_tier = "gold"}}!{{/if}}'
    " Your shop: {{recipient.shop}}"
)
REPORTED = {
    Esp("braze"): ("loyalty_tier", "shop"),
    Esp("klaviyo"): ("Loyalty Tier", "Shop"),
    Esp("mailchimp"): ("TIER", "SHOP"),
    Esp("sfmc"): ("Loyalty Tier", "Shop"),
}
"""What each ESP calls the two fields."""
LABELS = ("Loyalty tier", "Shop")
BEFORE = {
    Esp("braze"): (
        "Your tier: {{custom_attribute.${loyalty_tier}}}"
        '{% if custom_attribute.${loyalty_tier} == "gold" %}!{% endif %}'
        " Your shop: {{custom_attribute.${shop}}}"
    ),
    Esp("klaviyo"): (
        "Your tier: {{ person|lookup:'loyalty_tier'|default_if_none:'' }}"
        "{% if person|lookup:'loyalty_tier' == \"gold\" %}!{% endif %}"
        " Your shop: {{ person|lookup:'shop'|default_if_none:'' }}"
    ),
    Esp("mailchimp"): "Your tier: *|TIER|**|IF:TIER=gold|*!*|END:IF|* Your shop: *|SHOP|*",
    Esp("sfmc"): (
        '%%[ SET @loyalty_tier = AttributeValue("loyalty_tier") ]%%'
        '%%[ SET @shop = AttributeValue("shop") ]%%'
        "Your tier: %%=v(@loyalty_tier)=%%"
        '%%[ IF CONCAT("=", @loyalty_tier) == CONCAT("=", "gold") THEN ]%%!%%[ ENDIF ]%%'
        " Your shop: %%=v(@shop)=%%"
    ),
}
"""The exported content before the syncs: the ESPs' conventions, and the name set at Mailchimp."""
AFTER = {
    **BEFORE,
    Esp("klaviyo"): (
        BEFORE[Esp("klaviyo")].replace("loyalty_tier", "Loyalty Tier").replace("'shop'", "'Shop'")
    ),
    Esp("sfmc"): (
        BEFORE[Esp("sfmc")]
        .replace('"loyalty_tier"', '"Loyalty Tier"')
        .replace('"shop"', '"Shop"')
        .replace("@loyalty_tier", "@Loyalty_Tier")
        .replace("@shop", "@Shop")
    ),
}
EVERY_ORDER = pytest.mark.parametrize(
    "esps", [list(REPORTED), list(reversed(REPORTED))], ids=["first to last", "last to first"]
)


class Account:
    """An organization with an integration for each of the four ESPs."""

    def __init__(self, cli: CommandLine, core: Core, organization_id: OrganizationId) -> None:
        self._cli, self._organization_id, self._core = cli, organization_id, core
        self._ids = {
            esp: core.integrations.create_integration(organization_id, esp=esp, name=esp).id
            for esp in REPORTED
        }

    def run(self, *arguments: str | int | Path, **settings: str) -> Run:
        return self._cli(*arguments, "--organization", self._organization_id, **settings)

    def define(self) -> None:
        """Define `loyalty_tier` through the API and `shop` by hand."""
        for channel, name in ((API, "Loyalty tier"), (ADMINISTRATOR, "Shop")):
            draft = FieldDraft(name=name, data_type=DataType.TEXT)
            self._core.fields.by(Author(channel)).create_field(self._organization_id, draft)

    def sync(self, esp: Esp) -> None:
        fields = [
            {"name": name, "label": label, "data_type": "text"}
            for name, label in zip(REPORTED[esp], LABELS, strict=True)
        ]
        report = json.dumps({"fields": fields})
        self.run("integrations", "sync", self._ids[esp], "--from", "-", stdin=report).messages()

    def set_name(self, esp: Esp, key: str, name: str) -> None:
        self.run("integrations", "names", self._ids[esp], "--set", f"{key}={name}").messages()

    def export(self, esp: Esp) -> str:
        run = self.run("content", "export", "--integration", self._ids[esp], stdin=CONTENT)
        assert run.status == 0, run.err
        return run.out


@pytest.fixture
def account(cli: CommandLine, core: Core, acme: OrganizationId) -> Account:
    return Account(cli, core, acme)


@EVERY_ORDER
def test_definitions_work_in_each_esp_before_and_after_the_syncs(account, esps):
    account.define()
    account.set_name(Esp("mailchimp"), "loyalty_tier", "TIER")
    assert {esp: account.export(esp) for esp in REPORTED} == BEFORE
    for esp in esps:
        account.sync(esp)
    assert {esp: account.export(esp) for esp in REPORTED} == AFTER


@EVERY_ORDER
def test_a_team_that_syncs_first_needs_no_definition(account, esps):
    for esp in esps:
        account.sync(esp)
    account.set_name(Esp("mailchimp"), "loyalty_tier", "TIER")
    assert {esp: account.export(esp) for esp in REPORTED} == AFTER
    create = ("fields", "create", "--key", "loyalty_tier", "--name", "Loyalty tier")
    refused = account.run(*create, "--data-type", "text").failure()
    assert "already works at every integration" in refused


def test_a_list_that_was_valid_before_a_sync_is_valid_after_it(account, tmp_path):
    file = tmp_path / "recipients.csv"
    file.write_text("Loyalty tier,shop\ngold,Berlin\n", encoding="utf-8")
    account.define()
    for esp in REPORTED:
        account.sync(esp)
        run = account.run("recipients", "check", file)
        assert run.status == 0, run.err


def test_all_exports_are_written_with_one_command(account, tmp_path):
    account.define()
    account.set_name(Esp("mailchimp"), "loyalty_tier", "TIER")
    run = account.run("content", "export", "--all", "--out", tmp_path, stdin=CONTENT)
    assert run.status == 0, run.err
    written = {file.read_text(encoding="utf-8") for file in tmp_path.iterdir()}
    assert written == set(BEFORE.values())
