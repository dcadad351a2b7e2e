"""Addresses that `recipient-fields serve` can't listen on."""

from __future__ import annotations

import os
import pwd
import socket

import pytest

from ...support.command_line import CommandLine
from ...support.service import Service

MEMORY = CommandLine("memory:")


@pytest.mark.parametrize(
    "text",
    [
        *("", "localhost", "127.0.0.1", "0", "99999", ":0", "[::1]", "[::1", "::1:0"),
        *("127.0.0.1:", "127.0.0.1:http", "127.0.0.1:-1", "127.0.0.1:65536", "127.0.0.1:99999"),
        *("127.0.0.1:0 ", "127.0.0.1:1\n", "127.0.0.1:\N{ARABIC-INDIC DIGIT ONE}"),
        "http://127.0.0.1:0",
    ],
    ids=ascii,
)
def test_an_invalid_address_is_a_usage_error(text):
    message = (
        "Invalid value for '--listen': use HOST:PORT, for example 127.0.0.1:8080 or [::1]:8080."
    )

    assert MEMORY("serve", "--listen", text).usage_error() == message


@pytest.mark.parametrize(
    ("address", "shown"),
    [
        ("nosuch.invalid:8080", "nosuch.invalid:8080"),
        ("256.1.1.1:8080", "256.1.1.1:8080"),
        ("a..b:8080", "a..b:8080"),
        (f"{'a' * 300}:8080", f"{'a' * 300}:8080"),
        ("\udcff:8080", r"\udcff:8080"),
        ("two words:8080", "two words:8080"),
        ("[nosuch:host]:8080", "[nosuch:host]:8080"),
        ("192.0.2.1:0", "192.0.2.1:0"),
        ("[2001:db8::1]:0", "[2001:db8::1]:0"),
    ],
    ids=ascii,
)
def test_an_address_that_can_not_be_bound_is_reported_on_one_line(address, shown):
    message = MEMORY("serve", "--listen", address).failure()

    assert message.startswith(f"Can't listen on {shown}: ")
    assert "(" not in message


def test_a_port_in_use_is_reported_on_one_line_with_a_variable_that_works() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]

        message = MEMORY("serve", "--listen", f"127.0.0.1:{port}").failure()

    begin, _, free = message.partition("RECIPIENT_FIELDS_LISTEN=")
    assert begin == (
        f"Can't listen on 127.0.0.1:{port}: Address already in use. Choose another address with"
        " --listen, or with a variable: "
    )
    service = Service("memory:", RECIPIENT_FIELDS_LISTEN=free)
    try:
        assert service.url == f"http://{free}"
    finally:
        service.kill()


def test_a_port_that_can_not_be_shared_is_reported_with_the_cause() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]

        message = MEMORY("serve", "--listen", f"127.0.0.1:{port}", "--reuse-port").failure()

    user = pwd.getpwuid(os.geteuid()).pw_name
    assert message.startswith(
        f"Can't listen on 127.0.0.1:{port}: Address already in use. With --reuse-port, processes"
        " can share an address if all of them use this option and run as the same user (this one"
        f" runs as {user}). Choose another address with --listen, "
    )
