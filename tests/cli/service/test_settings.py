"""`Settings`, from options and from environment variables."""

from __future__ import annotations

import subprocess
import sys
from ipaddress import ip_network
from typing import Any

import pytest
from attrs import fields

from recipient_fields.entrypoints.service.settings import (
    Address,
    InvalidSettings,
    Settings,
    variable_of,
)
from recipient_fields.entrypoints.wsgi import application

from ...support.command_line import CommandLine
from ...support.waiting import TIMEOUT

INVALID = [
    ("listen", "localhost", "use HOST:PORT, for example 127.0.0.1:8080 or [::1]:8080."),
    ("threads", "65", "use a whole number from 1 to 64."),
    ("threads", "9" * 5_000, "use a whole number from 1 to 64."),
    ("connections", "0", "use a whole number of 1 or more."),
    ("cache", "-1", "use a whole number from 0 to 65536."),
    (
        "console-url",
        "https://a.example/console",
        "use the address without a path, for example https://fields.example.com.",
    ),
    ("log-level", "loud", "use debug, info, warning or error."),
    ("log-format", "loud", "use auto, json or text."),
    ("reuse-port", "perhaps", "use `true` or `false`."),
    *(
        (
            "trusted-proxies",
            networks,
            "use networks separated by commas, for example 10.0.0.0/8,192.0.2.7,2001:db8::/32.",
        )
        for networks in ("proxy.example", "10.0.0.1/8", "10.0.0.0/33", "10.0.0.0/8;::1")
    ),
    ("esp-organizations", "Acme", "use ids of organizations separated by commas, for example 1,7."),
    ("esp-organizations", "1,0", "use ids of organizations separated by commas, for example 1,7."),
]


def test_an_empty_environment_results_in_the_defaults() -> None:
    empty = {variable_of(setting.name): "" for setting in fields(Settings)}

    assert Settings.from_environment({}) == Settings()
    assert Settings.from_environment(empty) == Settings()


def test_every_setting_has_a_variable() -> None:
    texts: dict[str, tuple[str, Any]] = {
        "storage": ("memory:", "memory:"),
        "listen": ("[::1]:80", Address("::1", 80)),
        "admin_listen": ("127.0.0.1:0", Address("127.0.0.1", 0)),
        "threads": ("64", 64),
        "connections": ("7", 7),
        "reuse_port": ("yes", True),
        "field_limit": ("0", 0),
        "history_size": ("1024", 1024),
        "catalog_size": ("16", 16),
        "keys": ("introspection+https://issuer.example", "introspection+https://issuer.example"),
        "cache": ("0", 0),
        "console": ("on", True),
        "console_url": ("https://Fields.example.com:8443/", "https://fields.example.com:8443"),
        "esp_organizations": ("1, 7,", (1, 7)),
        "esp_hosts": ("Proxy.internal, [::1]:8443,", ("proxy.internal", "[::1]:8443")),
        "log_level": ("error", "error"),
        "log_format": ("text", "text"),
        "log_client_address": ("TRUE", True),
        "trusted_proxies": ("10.0.0.0/8, ::1", (ip_network("10.0.0.0/8"), ip_network("::1"))),
        "traces": ("1", True),
    }

    settings = Settings.from_environment({variable_of(n): text for n, (text, _) in texts.items()})

    assert texts.keys() == {setting.name for setting in fields(Settings)}
    assert settings == Settings(**{name: value for name, (_, value) in texts.items()})


@pytest.mark.parametrize(("option", "text", "message"), INVALID)
def test_an_option_and_its_variable_have_the_same_message(option, text, message):
    variable = variable_of(option)

    with pytest.raises(InvalidSettings) as error:
        Settings.from_environment({variable: text})
    usage_error = CommandLine("memory:")("serve", **{variable: text}).usage_error()

    assert str(error.value) == f"Invalid value for {variable}: {message}"
    assert usage_error == str(error.value)


def test_the_message_lists_every_invalid_variable() -> None:
    texts = {variable_of(option): text for option, text, _ in INVALID if option != "threads"}

    with pytest.raises(InvalidSettings) as error:
        Settings.from_environment(texts)

    assert all(f"Invalid value for {variable}: " in str(error.value) for variable in texts)


def test_the_application_for_other_servers_does_not_import_click() -> None:
    code = "import recipient_fields.entrypoints.wsgi, sys; sys.exit('click' in sys.modules)"

    assert (
        subprocess.run([sys.executable, "-c", code], timeout=TIMEOUT, check=False).returncode == 0
    )


@pytest.mark.parametrize(
    ("text", "origin"),
    [
        ("https://fields.example.com", "https://fields.example.com"),
        ("HTTPS://Fields.Example.com:443/", "https://fields.example.com"),
        ("http://localhost:80", "http://localhost"),
        ("http://localhost:443", "http://localhost:443"),
        ("http://[::1]:8080", "http://[::1]:8080"),
    ],
)
def test_the_address_of_the_console_is_an_origin_as_browsers_send_it(text, origin):
    settings = Settings.from_environment({variable_of("console_url"): text})

    assert settings.console_url == origin


@pytest.mark.parametrize(
    "text",
    [
        *("fields.example.com", "https://", "ftp://a.example", "https://a.example?b"),
        *("https://user@a.example", "https://a.example:0", "https://a.example:99999"),
        *("https://m\u00fcnchen.example", "https://a.example\n", "https://a b"),
    ],
)
def test_another_text_is_no_address_of_the_console(text):
    with pytest.raises(InvalidSettings, match="use the address without a path"):
        Settings.from_environment({variable_of("console_url"): text})


@pytest.mark.parametrize("listen", ["127.0.0.1:8080", "0.0.0.0:8080"])
def test_under_another_server_the_console_requires_its_url(monkeypatch, listen):
    for name, text in {"storage": "memory:", "console": "true", "listen": listen}.items():
        monkeypatch.setenv(variable_of(name), text)

    with pytest.raises(InvalidSettings, match="RECIPIENT_FIELDS_CONSOLE_URL"):
        application()
