"""The data and the commands of `recipient-fields serve --demo`."""

from __future__ import annotations

import re
import shlex
import shutil
import subprocess
from collections.abc import Callable, Iterator
from urllib.parse import urlsplit

import pytest

from recipient_fields.domain import PlainKey

from ..support.command_line import Script
from ..support.service import FIELDS, Client, Response, Service
from ..support.waiting import TIMEOUT
from .conftest import new_file

pytestmark = pytest.mark.slow


def status_in_shell(command: str) -> int:
    """Run the command in a shell, and return the status of the response."""
    run = subprocess.run(
        ["sh", "-c", command], capture_output=True, text=True, timeout=TIMEOUT, check=True
    )
    assert run.stdout.endswith("}\n")  # The next prompt begins on its own line.
    return int(run.stdout.split()[1])


def status_of_request(command: str) -> int:
    """Send the request of the command without curl, and return the status of the response."""
    return response_of(command).status


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
        elif word != "-i":
            rest.append(word)
    (url,) = rest
    headers = dict(header.split(": ", 1) for header in options["-H"])
    body = "".join(options["-d"])
    method = (*options["-X"], "POST" if body else "GET")[0]
    return Client(url).send(method, urlsplit(url).path, body.encode() or None, headers)


LAST_COMMAND = r"(?s)(curl .*){3}preferred_shop'?\n"
RUNNERS = (
    [status_of_request] if shutil.which("curl") is None else [status_of_request, status_in_shell]
)


@pytest.fixture
def storage() -> Iterator[str]:
    """Return the URL of an empty storage."""
    with new_file() as file:
        yield f"sqlite:{file}"


@pytest.fixture
def script(storage: str) -> Script:
    return Script(storage)


@pytest.fixture
def demonstration(start: Callable[..., Service]) -> Service:
    service = start("--demo", shows_key=True)
    service.wait_for(LAST_COMMAND)
    return service


def printed_key(service: Service) -> str:
    return service.wait_for(r"The API key, shown this once: (\S+)\n")[1]


def commands(service: Service) -> list[str]:
    return re.findall(r"(?m)^curl .*$", service.stderr)


@pytest.mark.parametrize("run", RUNNERS)
def test_the_responses_to_the_three_commands_are_200_201_and_403(
    demonstration: Service, run: Callable[[str], int]
) -> None:
    assert [run(command) for command in commands(demonstration)] == [200, 201, 403]


def test_the_commands_work_over_ipv6(start: Callable[..., Service]) -> None:
    service = start("--demo", shows_key=True, RECIPIENT_FIELDS_LISTEN="[::1]:0")
    service.wait_for(LAST_COMMAND)

    assert service.url.startswith("http://[::1]:")
    for run in RUNNERS[-1:]:
        assert [run(command) for command in commands(service)] == [200, 201, 403]


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


def test_one_command_exports_an_email_for_both_esps(demonstration: Service) -> None:
    (command,) = [each for each in commands(demonstration) if "content_exports" in each]

    exports = response_of(command).document["exports"]

    assert [each["error"] for each in exports] == [None, None]
    braze, klaviyo = (each["content"] for each in exports)
    assert "{{custom_attribute.${loyalty_tier} | upcase}}" in braze
    assert "{{ person|lookup:'Loyalty Tier'|default_if_none:''|upper }}" in klaviyo


def test_the_history_has_a_change_of_a_field(demonstration: Service) -> None:
    client = demonstration.client(printed_key(demonstration))

    changes = client("GET", f"{FIELDS}/loyalty_tier/changes").document["recipient_field_changes"]

    assert [each["operation"] for each in changes] == ["created", "updated"]


def test_the_key_is_printed_once_and_in_each_command(demonstration: Service) -> None:
    key = printed_key(demonstration)

    assert demonstration.stderr.count(key) == 1 + len(commands(demonstration))


def test_a_second_start_keeps_the_data_and_reports_it(
    demonstration: Service, start: Callable[..., Service]
) -> None:
    client = demonstration.client(printed_key(demonstration))
    client.create(name="Shoe size", data_type="number")
    before = client.fields()
    demonstration.stop()

    again = start("--demo")  # The fixture checks that it prints no key.

    again.wait_for(r"The storage already has data")
    assert again.client(printed_key(demonstration)).fields() == before


def test_a_storage_with_an_organization_gets_no_demonstration_data(
    script: Script, start: Callable[..., Service]
) -> None:
    script("organizations", "create", "Acme")

    start("--demo").wait_for(r"The storage already has data")

    listed = script("organizations", "list", "--json").document()["organizations"]
    assert listed == [{"id": 1, "name": "Acme"}]
    assert script("fields", "list", "--organization", 1, "--json").document() == {
        "recipient_fields": []
    }


def test_demonstration_and_address_can_be_set_in_the_environment(
    start: Callable[..., Service],
) -> None:
    service = start(
        shows_key=True,
        RECIPIENT_FIELDS_DEMO="1",
        RECIPIENT_FIELDS_LISTEN="localhost:0",
        RECIPIENT_FIELDS_THREADS="1",
    )

    assert len(service.client(printed_key(service)).fields()) == 8


def test_one_line_has_the_address_of_the_console_and_a_link_that_signs_in(
    demonstration: Service, start: Callable[..., Service]
) -> None:
    address, link = console_and_link(demonstration)
    page = Client(demonstration.url).send("GET", urlsplit(link).path, None, {})
    home = Client(demonstration.url).send("GET", "/", None, {"Accept": "text/html"})

    assert address == f"{demonstration.url}/console"
    assert page.status == 200
    assert b"This link signs" in page.body
    assert b"demo@recipient-fields.example" in page.body
    assert home.headers["Location"] == "/console"
    demonstration.stop()
    assert demonstration.stderr.count(link.rpartition("/")[2]) == 1
    assert console_and_link(start("--demo"))[1] != link  # Each start prints another link.


def test_the_link_has_the_configured_address(start: Callable[..., Service]) -> None:
    url = "https://fields.example.com"

    service = start("--demo", "--console-url", url, shows_key=True)

    address, link = console_and_link(service)
    assert address == f"{url}/console"
    assert link.startswith(f"{url}/console/links/")


def console_and_link(service: Service) -> tuple[str, str]:
    line = r"To open the console at (\S+), sign in with this link, which works once: (\S+)\n"
    found = service.wait_for(line)
    return found[1], found[2]
