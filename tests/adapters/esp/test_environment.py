"""`open_field_source` with the settings in environment variables."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import attrs
import pytest

from recipient_fields.adapters.esp import SOURCES
from recipient_fields.application import MissingExtra
from recipient_fields.application.environment import MissingCredentials
from recipient_fields.domain.esp import Esp
from recipient_fields.domain.integrations import EspRefused, NoFieldSource
from recipient_fields.entrypoints.service.selection import open_field_source

from ...support.http_server import stub_server
from .accounts import SECRET, Account

DOCUMENTATION = Path(__file__).parents[3] / "docs" / "settings.md"


def variable(esp: Esp, name: str) -> str:
    return f"RECIPIENT_FIELDS_{esp.upper()}_{name.upper()}"


def settings_of(account: Account) -> list[attrs.Attribute[Any]]:
    source_class: Any = SOURCES[account.esp]
    return [each for each in attrs.fields(source_class) if each.name != "limits"]


def environment(account: Account, url: str) -> dict[str, str]:
    settings = {**account.settings, "url": url}
    return {variable(account.esp, name): value for name, value in settings.items()}


def test_the_credentials_in_the_environment_open_the_source(account):
    with stub_server(account.handler) as server:
        variables = {
            name: f" {value}\n" for name, value in environment(account, server.url).items()
        }
        source = open_field_source(account.esp, variables)
        assert tuple(source.fields()) == account.reported
    assert type(source) is SOURCES[account.esp]


def test_an_error_lists_all_missing_variables(account):
    with pytest.raises(MissingCredentials) as error:
        open_field_source(account.esp, {"RECIPIENT_FIELDS_STORAGE": "memory:"})
    required = [
        variable(account.esp, each.name)
        for each in settings_of(account)
        if each.default is attrs.NOTHING
    ]
    assert list(error.value.variables) == required
    assert all(name in str(error.value) for name in required)


def test_a_blank_variable_is_missing_and_no_value_is_in_the_message(account):
    variables = environment(account, "https://example.com")
    first = next(iter(variables))
    with pytest.raises(MissingCredentials) as error:
        open_field_source(account.esp, {**variables, first: " "})
    assert error.value.variables == (first,)
    assert SECRET not in str(error.value)


def test_every_setting_except_the_limits_is_a_documented_variable(account):
    table = DOCUMENTATION.read_text(encoding="utf-8")
    for each in settings_of(account):
        assert f"`{variable(account.esp, each.name)}`" in table


def test_every_optional_setting_is_read_from_the_environment(account):
    optional = {
        each.name: "7" if each.name == "pages" else "https://example.org"
        for each in settings_of(account)
        if each.default is not attrs.NOTHING
    }
    variables = environment(account, "https://example.com")
    variables |= {variable(account.esp, name): value for name, value in optional.items()}
    source = open_field_source(account.esp, variables)
    assert {name: str(getattr(source, name)) for name in optional} == optional


def test_an_esp_without_a_list_of_fields_has_no_source():
    with pytest.raises(NoFieldSource, match=r"Customer\.io does not list fields.*from a report"):
        open_field_source(Esp("customerio"), {})


def test_an_invalid_number_of_pages_raises_esp_refused():
    variables = {
        variable(Esp("klaviyo"), "api_key"): "k",
        variable(Esp("klaviyo"), "pages"): "many",
    }
    with pytest.raises(EspRefused, match="1 to 100 pages"):
        open_field_source(Esp("klaviyo"), variables)


@pytest.mark.usefixtures("without_urllib3")
def test_without_urllib3_the_error_names_the_extra():
    with pytest.raises(MissingExtra, match=r"Install recipient-fields\[esp\]"):
        open_field_source(Esp("sendgrid"), {variable(Esp("sendgrid"), "api_key"): SECRET})
