"""Several service processes on one database."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import psutil
import pytest

from recipient_fields.application import Core
from recipient_fields.domain import Organization

from ...support.command_line import environment_with
from ...support.postgres import PASSWORD
from ...support.service import FIELDS, Client, require_statuses
from .conftest import COMMAND

pytestmark = pytest.mark.slow


def test_a_key_revoked_through_one_process_is_rejected_by_the_other(
    serve: Callable[[], str], core: Core, acme: Organization, database: str, key: str
) -> None:
    clients = [Client(serve(), key) for _ in range(2)]
    require_statuses([client("GET", FIELDS) for client in clients], 200)
    (stored,) = core.administration.list_keys(acme.id)
    subprocess.run(
        [
            *(COMMAND, "--storage", database, "keys", "revoke", str(stored.id)),
            *("--organization", str(acme.id), "--yes"),
        ],
        check=True,
        capture_output=True,
    )
    require_statuses([client("GET", FIELDS) for client in clients], 401)


def test_each_process_reads_what_the_other_wrote(serve: Callable[[], str], key: str) -> None:
    one, other = (Client(serve(), key) for _ in range(2))
    for number in range(10):
        writer, reader = (one, other) if number % 2 else (other, one)
        assert writer.create(name=f"n{number}").status == 201
        assert [field["name"] for field in reader.fields()] == [f"n{n}" for n in range(number + 1)]


def test_exactly_one_of_fifty_creates_of_a_key_succeeds(serve: Callable[[], str], key: str) -> None:
    clients = [Client(serve(), key) for _ in range(2)] * 25
    with ThreadPoolExecutor(len(clients)) as pool:
        responses = list(pool.map(lambda client: client.create(name="City"), clients))
    require_statuses(responses, 201, 409)
    assert [response.status for response in responses].count(201) == 1


@pytest.mark.parametrize("rounds", [25])
def test_patches_of_different_members_lose_nothing(
    serve: Callable[[], str], key: str, rounds: int
) -> None:
    clients = [Client(serve(), key) for _ in range(2)]
    clients[0].create(name="0", key="counter", data_type="number")
    members: list[tuple[str, Callable[[int], object]]] = [
        ("name", str),
        ("allowed_values", lambda number: [number]),
        ("custom_insertion_code", str),
        ("custom_value_expression", str),
    ]

    def change(worker: int) -> None:
        member, value = members[worker % 4]
        for number in range(rounds):
            changed = {member: value(worker * rounds + number)}
            assert clients[worker % 2].change("counter", **changed).status == 200

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(change, range(8)))
    (field,) = clients[0].fields()
    last = {worker * rounds + rounds - 1 for worker in range(8)}
    for member, _ in members:
        value = field[member]
        assert int(value[0] if isinstance(value, list) else value) in last


@pytest.mark.parametrize("scheme", ["postgresql", "postgres"])
def test_neither_the_process_list_nor_the_log_shows_the_password(
    database: str, acme: Organization, scheme: str
) -> None:
    url = f"{scheme}:{database.partition(':')[2]}"
    with subprocess.Popen(
        [COMMAND, "--storage", url, "serve", "--listen", "127.0.0.1:0"],
        env=environment_with({}),
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stderr is not None
        first = process.stderr.readline()
        shown = psutil.Process(process.pid).cmdline()
        process.terminate()
        log = first + process.stderr.read()
    assert "listening on" in first
    assert json.loads(first)["storage"] == "postgresql"
    assert PASSWORD not in log
    assert "recipient-fields serve" in " ".join(shown)
    assert PASSWORD not in " ".join(shown)
