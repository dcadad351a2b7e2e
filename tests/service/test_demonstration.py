"""`recipient-fields serve --demo`: what it prints works when it is pasted."""

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
from ..support.service import Client, Service
from ..support.waiting import TIMEOUT
from .conftest import new_file

pytestmark = pytest.mark.slow


def pasted(command: str) -> int:
    """The status that the command prints first in a shell."""
    run = subprocess.run(
        ["sh", "-c", command], capture_output=True, text=True, timeout=TIMEOUT, check=True
    )
    return int(run.stdout.split()[1])


def translated(command: str) -> int:
    """The status of the request that the command would send."""
    name, *words = shlex.split(command)
    assert name == "curl"
    options: dict[str, list[str]] = {"-H": [], "-X": [], "-d": []}
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
    return Client(url).send(method, urlsplit(url).path, body.encode() or None, headers).status


LAST_COMMAND = r"(?s)(curl .*){3}preferred_shop'?\n"
RUNNERS = [translated] if shutil.which("curl") is None else [translated, pasted]


@pytest.fixture
def storage() -> Iterator[str]:
    """A storage that is empty."""
    with new_file() as file:
        yield f"sqlite:{file}"


@pytest.fixture
def script(storage: str) -> Script:
    return Script(storage)


@pytest.fixture
def demonstration(start: Callable[..., Service]) -> Service:
    service = start("--demo", shows_key=True)
    service.tells(LAST_COMMAND)
    return service


def shown_key(service: Service) -> str:
    return service.tells(r"The API key, shown this once: (\S+)\n")[1]


def commands(service: Service) -> list[str]:
    return re.findall(r"(?m)^curl .*$", service.told)


@pytest.mark.parametrize("run", RUNNERS)
def test_the_three_commands_are_answered_200_201_and_403(
    demonstration: Service, run: Callable[[str], int]
) -> None:
    assert [run(command) for command in commands(demonstration)] == [200, 201, 403]


def test_the_commands_work_over_ipv6_as_well(start: Callable[..., Service]) -> None:
    service = start("--demo", shows_key=True, RECIPIENT_FIELDS_LISTEN="[::1]:0")
    service.tells(LAST_COMMAND)

    assert service.url.startswith("http://[::1]:")
    for run in RUNNERS[-1:]:
        assert [run(command) for command in commands(service)] == [200, 201, 403]


def test_it_makes_one_organization_one_key_and_a_field_of_each_origin(
    demonstration: Service, script: Script
) -> None:
    client = demonstration.client(shown_key(demonstration))

    organizations = script("organizations", "list", "--json").document()["organizations"]
    keys = script("keys", "list", "--organization", 1, "--json").document()["api_keys"]
    assert PlainKey.parse(shown_key(demonstration)) is not None
    assert len(organizations) == 1
    assert len(keys) == 1
    assert [f["source"] for f in client.fields()] == ["api", "manual", "integration"]


def test_the_key_is_shown_once_beside_the_commands(demonstration: Service) -> None:
    key = shown_key(demonstration)

    assert demonstration.told.count(key) == 1 + len(commands(demonstration))


def test_a_second_start_keeps_what_is_there_and_says_so(
    demonstration: Service, start: Callable[..., Service]
) -> None:
    client = demonstration.client(shown_key(demonstration))
    client.create(name="Shoe size", data_type="number")
    before = client.fields()
    demonstration.stop()

    again = start("--demo")  # Shows no key: the fixture sees to that.

    again.tells(r"The storage already has data")
    assert again.client(shown_key(demonstration)).fields() == before


def test_a_storage_that_holds_an_organization_is_not_demonstrated_on(
    script: Script, start: Callable[..., Service]
) -> None:
    script("organizations", "create", "Acme")

    start("--demo").tells(r"The storage already has data")

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

    assert len(service.client(shown_key(service)).fields()) == 3
