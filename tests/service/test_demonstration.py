"""The data and the commands of `recipient-fields serve --demo`."""

from __future__ import annotations

import json
import re
import shlex
import shutil
import subprocess
from collections.abc import Callable, Iterator
from typing import Any
from urllib.parse import urlsplit

import pytest

from recipient_fields.domain import PlainKey

from ..support.command_line import CommandLine, Script
from ..support.service import FIELDS, Client, Response, Service
from ..support.waiting import TIMEOUT
from .conftest import Start, new_file

pytestmark = pytest.mark.slow


def output_of(command: str, **settings: Any) -> str:
    """Run the command in a shell, and return its output."""
    run = subprocess.run(
        ["sh", "-c", command],
        capture_output=True,
        text=True,
        timeout=TIMEOUT,
        check=True,
        **settings,
    )
    assert run.stdout.endswith("\n")  # The next prompt begins on its own line.
    return run.stdout


def results_in_shell(commands: list[str]) -> tuple[str, list[int]]:
    """Run the commands in a shell. Return the emails, and the statuses of the other responses."""
    emails, *others = map(output_of, commands)
    return emails, [int(each.split()[1]) for each in others]


def results_without_curl(commands: list[str]) -> tuple[str, list[int]]:
    """Send the requests of the commands without curl, and return the same."""
    first, *others = commands
    request, _, program = first.rpartition(" | ")
    body = json.dumps(response_of(request).document)
    return output_of(program, input=body), [response_of(each).status for each in others]


def response_of(command: str) -> Response:
    """Send the request of the command without curl, and return the response."""
    name, *words = shlex.split(command)
    assert name == "curl"
    options: dict[str, list[str]] = {"-H": [], "-X": [], "-d": [], "-w": []}
    rest = []
    while words:
        word = words.pop(0)
        if word in options:
            options[word].append(words.pop(0))
        elif word not in {"-i", "-s"}:
            rest.append(word)
    (url,) = rest
    headers = dict(header.split(": ", 1) for header in options["-H"])
    body = "".join(options["-d"])
    method = (*options["-X"], "POST" if body else "GET")[0]
    return Client(url).send(method, urlsplit(url).path, body.encode() or None, headers)


LAST_COMMAND = r"(?s)(curl .*){3}preferred_shop'?\n"
RUNNERS = [results_without_curl] + ([results_in_shell] if shutil.which("curl") else [])
EMAILS = """\
Hello {{${first_name} | default: 'there'}},
tier: {{custom_attribute.${loyalty_tier} | upcase}}
{% if custom_attribute.${loyalty_tier} == "gold" %}
A gift is waiting for you.
{% endif %}
Unsubscribe: {{${set_user_to_unsubscribed_url}}}

Hello {{ first_name|default:'there' }},
tier: {{ person|lookup:'Loyalty Tier'|default_if_none:''|upper }}
{% if person|lookup:'Loyalty Tier' == "gold" %}
A gift is waiting for you.
{% endif %}
Unsubscribe: {% unsubscribe_link %}
"""
"""The emails that the first command prints, for Braze and Klaviyo."""


@pytest.fixture
def storage() -> Iterator[str]:
    """Return the URL of an empty storage."""
    with new_file() as file:
        yield f"sqlite:{file}"


@pytest.fixture
def script(storage: str) -> Script:
    return Script(storage)


@pytest.fixture
def demonstration(start: Start) -> Service:
    service = start("--demo", shows_secrets=True)
    service.wait_for(LAST_COMMAND)
    return service


def printed_key(service: Service) -> str:
    return service.wait_for(r"The API key, shown this once: (\S+)\n")[1]


def commands(service: Service) -> list[str]:
    return re.findall(r"(?m)^curl .*$", service.stderr)


@pytest.mark.parametrize("run", RUNNERS)
def test_the_commands_print_an_email_create_a_field_and_are_forbidden(
    demonstration: Service, run: Callable[[list[str]], tuple[str, list[int]]]
) -> None:
    assert run(commands(demonstration)) == (EMAILS, [201, 403])


@pytest.mark.parametrize("log_format", ["json", "text"])
def test_the_greeting_is_before_the_log_and_begins_with_the_console(
    start: Start, log_format: str
) -> None:
    service = start("--demo", "--log-format", log_format, shows_secrets=True)
    service.wait_for("process_id")

    greeting, _, log = service.stderr.partition(f"open {service.url}/docs\n")
    first, _, console, link, _, api, *_ = greeting.splitlines()
    assert first == f"Recipient Fields is listening on {service.url}"
    assert console == "To open the console, use this link, which works once:"
    assert link == link_of(service)
    assert api.startswith("To call the API, paste these commands into another terminal.")
    assert "recipient_fields.audit" not in service.stderr
    assert log.count("\n") == 1
    assert "listening on" in log


def test_the_commands_work_over_ipv6(start: Start) -> None:
    service = start("--demo", shows_secrets=True, RECIPIENT_FIELDS_LISTEN="[::1]:0")
    service.wait_for(LAST_COMMAND)

    assert service.url.startswith("http://[::1]:")
    for run in RUNNERS[-1:]:
        assert run(commands(service)) == (EMAILS, [201, 403])


def test_it_creates_one_organization_one_key_and_fields_of_each_origin(
    demonstration: Service, script: Script
) -> None:
    client = demonstration.client(printed_key(demonstration))

    organizations = script("organizations", "list", "--json").document()["organizations"]
    keys = script("keys", "list", "--organization", 1, "--json").document()["api_keys"]
    fields = client.fields()
    assert PlainKey.parse(printed_key(demonstration)) is not None
    assert len(organizations) == 1
    assert len(keys) == 1
    assert len(fields) == 8
    assert {field["source"] for field in fields} == {"api", "manual", "integration"}


def test_the_history_has_a_change_of_a_field(demonstration: Service) -> None:
    client = demonstration.client(printed_key(demonstration))

    changes = client("GET", f"{FIELDS}/loyalty_tier/changes").document["recipient_field_changes"]

    assert [each["operation"] for each in changes] == ["created", "updated"]


def test_the_key_is_printed_once_and_in_each_command(demonstration: Service) -> None:
    key = printed_key(demonstration)

    assert demonstration.stderr.count(key) == 1 + len(commands(demonstration))


def test_a_second_start_keeps_the_data_and_reports_it(demonstration: Service, start: Start) -> None:
    client = demonstration.client(printed_key(demonstration))
    client.create(name="Shoe size", data_type="number")
    before = client.fields()
    demonstration.stop()

    again = start("--demo", shows_secrets=True)

    again.wait_for(
        r"The storage has the demonstration data of an earlier start, .*\n"
        r".* add --reset to `recipient-fields serve --demo`\."
    )
    assert again.client(printed_key(demonstration)).fields() == before
    assert "rfk_" not in again.stderr


def test_a_storage_with_an_organization_gets_no_demonstration_data(
    script: Script, start: Start
) -> None:
    script("organizations", "create", "Acme")

    start("--demo").wait_for(
        r"The storage already has data, so no demonstration data was added\.[\s\S]*"
        r"To see a demonstration, stop this service, and run:"
        r" recipient-fields serve --demo --storage sqlite:demo\.db"
    )

    listed = script("organizations", "list", "--json").document()["organizations"]
    assert listed == [{"id": 1, "name": "Acme"}]
    assert script("fields", "list", "--organization", 1, "--json").document() == {
        "recipient_fields": []
    }


def test_reset_deletes_the_data_and_starts_again(
    demonstration: Service, start: Start, script: Script
) -> None:
    former = printed_key(demonstration)
    demonstration.client(former).create(name="Shoe size", data_type="number")
    demonstration.stop()

    again = start("--demo", "--reset", shows_secrets=True)
    again.wait_for(LAST_COMMAND)

    assert results_without_curl(commands(again)) == (EMAILS, [201, 403])
    assert "shoe_size" not in {each["key"] for each in again.client(printed_key(again)).fields()}
    assert again.client(former)("GET", FIELDS).status == 401
    assert "recipient_fields.audit" not in again.stderr
    assert len(script("organizations", "list", "--json").document()["organizations"]) == 1


@pytest.mark.parametrize("name", ["Acme", "Demonstration"])
def test_reset_deletes_nothing_of_others(script: Script, name: str) -> None:
    script("organizations", "create", name)

    run = script("serve", "--demo", "--reset", "--listen", "127.0.0.1:0")

    assert run.failure() == (
        f"The storage also has the organization 1, {name}, so nothing was deleted. Omit --reset, or"
        " use another storage: --storage sqlite:PATH."
    )
    listed = script("organizations", "list", "--json").document()["organizations"]
    assert listed == [{"id": 1, "name": name}]


def test_a_reset_of_an_empty_storage_is_a_first_start(start: Start) -> None:
    service = start("--demo", "--reset", shows_secrets=True)

    assert len(service.client(printed_key(service)).fields()) == 8


def test_reset_requires_a_demonstration() -> None:
    error = CommandLine("memory:")("serve", "--reset").usage_error()
    assert error == "--reset requires --demo."


def test_demonstration_and_address_can_be_set_in_the_environment(start: Start) -> None:
    service = start(
        shows_secrets=True,
        RECIPIENT_FIELDS_DEMO="1",
        RECIPIENT_FIELDS_LISTEN="localhost:0",
        RECIPIENT_FIELDS_THREADS="1",
    )

    assert len(service.client(printed_key(service)).fields()) == 8


def test_a_link_opens_the_console_once(demonstration: Service, start: Start) -> None:
    link = link_of(demonstration)
    page = Client(demonstration.url).send("GET", urlsplit(link).path, None, {})
    home = Client(demonstration.url).send("GET", "/", None, {"Accept": "text/html"})

    assert link.startswith(f"{demonstration.url}/console/links/")
    assert page.status == 200
    assert b"This link signs" in page.body
    assert b"demo@recipient-fields.example" in page.body
    assert home.headers["Location"] == "/console"
    demonstration.stop()
    assert demonstration.stderr.count(link.rpartition("/")[2]) == 1
    assert link_of(start("--demo", shows_secrets=True)) != link  # Each start prints another link.


def test_the_link_has_the_configured_address(start: Start) -> None:
    url = "https://fields.example.com"

    service = start("--demo", "--console-url", url, shows_secrets=True)

    assert link_of(service).startswith(f"{url}/console/links/")


def link_of(service: Service) -> str:
    return service.wait_for(r"use this link, which works once:\n(\S+)\n")[1]
