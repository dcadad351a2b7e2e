"""The composition root: which source an environment opens."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import attrs
import pytest

from recipient_fields.adapters.esp import SOURCES, MailchimpFieldSource
from recipient_fields.adapters.esp.account import NoFieldSource
from recipient_fields.application import MissingExtra
from recipient_fields.application.environment import MissingCredentials
from recipient_fields.domain.esp import Esp, EspRefused
from recipient_fields.entrypoints.selection import open_field_source

from ...support.http_server import staged
from .accounts import ACCOUNTS, SECRET, Account

DOCUMENTATION = Path(__file__).parents[3] / "docs" / "integrations.md"


def variable(esp: Esp, name: str) -> str:
    return f"RECIPIENT_FIELDS_{esp.value.upper()}_{name.upper()}"


def environment(account: Account, url: str) -> dict[str, str]:
    settings = {**account.settings, "url": url}
    return {variable(account.esp, name): value for name, value in settings.items()}


@pytest.fixture(params=ACCOUNTS, ids=lambda account: account.esp.value)
def account(request: pytest.FixtureRequest) -> Account:
    return request.param


def test_an_environment_with_credentials_opens_the_source(account: Account):
    with staged(account.play) as stage:
        given = {name: f" {value}\n" for name, value in environment(account, stage.url).items()}
        source = open_field_source(account.esp, given)
        assert tuple(source.fields()) == account.reported
    assert type(source) is SOURCES[account.esp]


def test_without_credentials_all_missing_variables_are_named_at_once(account: Account):
    with pytest.raises(MissingCredentials) as error:
        open_field_source(account.esp, {"RECIPIENT_FIELDS_STORAGE": "memory:"})
    source_class: Any = SOURCES[account.esp]
    required = [
        variable(account.esp, each.name)
        for each in attrs.fields(source_class)
        if each.default is attrs.NOTHING
    ]
    assert list(error.value.variables) == required
    assert all(name in str(error.value) for name in required)


def test_a_blank_credential_is_missing_and_the_others_are_not_told(account: Account):
    given = environment(account, "https://example.com")
    first = next(iter(given))
    with pytest.raises(MissingCredentials) as error:
        open_field_source(account.esp, {**given, first: " "})
    assert error.value.variables == (first,)
    assert SECRET not in str(error.value)


def test_every_setting_but_the_limits_is_a_documented_variable(account: Account):
    table = DOCUMENTATION.read_text(encoding="utf-8")
    source_class: Any = SOURCES[account.esp]
    for each in attrs.fields(source_class):
        if each.name != "limits":
            assert f"`{variable(account.esp, each.name)}`" in table


def test_every_optional_setting_is_taken_from_the_environment(account: Account):
    source_class: Any = SOURCES[account.esp]
    optional = {
        each.name: "7" if each.name == "pages" else "https://example.org"
        for each in attrs.fields(source_class)
        if each.default is not attrs.NOTHING and each.name != "limits"
    }
    given = environment(account, "https://example.com")
    given |= {variable(account.esp, name): value for name, value in optional.items()}
    source = open_field_source(account.esp, given)
    assert {name: str(getattr(source, name)) for name in optional} == optional


def test_an_esp_without_a_listing_is_to_be_given_its_fields():
    with pytest.raises(NoFieldSource, match=r"Customer\.io does not list fields.*--from"):
        open_field_source(Esp.CUSTOMER_IO, {})


def test_a_sample_of_no_known_length_is_a_refusal():
    given = {variable(Esp.KLAVIYO, "api_key"): "k", variable(Esp.KLAVIYO, "pages"): "many"}
    with pytest.raises(EspRefused, match="1 to 100 pages"):
        open_field_source(Esp.KLAVIYO, given)


def test_without_its_extra_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch):
    for name in [name for name in sys.modules if name.startswith("recipient_fields.adapters.esp")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.delattr("recipient_fields.adapters.esp")
    monkeypatch.setitem(sys.modules, "urllib3", None)
    with pytest.raises(MissingExtra, match=r"Install recipient-fields\[esp\]"):
        open_field_source(Esp.SENDGRID, {variable(Esp.SENDGRID, "api_key"): SECRET})


def test_a_mailchimp_key_without_a_data_centre_is_not_looked_up():
    source = MailchimpFieldSource(api_key="0123456789abcdef" * 2, list_id="1")
    with pytest.raises(EspRefused):
        list(source.fields())
