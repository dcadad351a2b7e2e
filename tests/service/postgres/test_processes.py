"""Several service processes on one database."""

from __future__ import annotations

import http.client
import json
import subprocess
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from urllib.parse import urlsplit

import psutil
import pytest

from recipient_fields.application import Core
from recipient_fields.domain import Organization

from ...support.postgres import PASSWORD
from .conftest import COMMAND
from .load import FIELDS

pytestmark = pytest.mark.slow


def send(
    url: str, key: str, method: str = "GET", path: str = FIELDS, members: object = None
) -> tuple[int, bytes]:
    connection = http.client.HTTPConnection(urlsplit(url).netloc, timeout=10)
    headers = {"Authorization": f"Bearer {key}"}
    body = None
    if members is not None:
        headers["Content-Type"] = "application/json"
        body = json.dumps({"recipient_field": members})
    connection.request(method, path, body, headers)
    response = connection.getresponse()
    result = response.status, response.read()
    connection.close()
    return result


def test_a_key_revoked_through_one_process_is_rejected_by_the_other(
    serve: Callable[[], str], core: Core, acme: Organization, database: str, key: str
) -> None:
    one, other = serve(), serve()
    assert send(one, key)[0] == send(other, key)[0] == 200
    (stored,) = core.administration.list_keys(acme.id)
    subprocess.run(
        [
            *(COMMAND, "--storage", database, "keys", "revoke", str(stored.id)),
            *("--organization", str(acme.id), "--yes"),
        ],
        check=True,
        capture_output=True,
    )
    assert send(one, key)[0] == send(other, key)[0] == 401


def test_each_process_reads_what_the_other_wrote(serve: Callable[[], str], key: str) -> None:
    one, other = serve(), serve()
    for number in range(10):
        writer, reader = (one, other) if number % 2 else (other, one)
        status, _ = send(writer, key, "POST", members={"name": f"n{number}", "data_type": "text"})
        assert status == 201
        fields = json.loads(send(reader, key)[1])["recipient_fields"]
        assert [field["name"] for field in fields] == [f"n{n}" for n in range(number + 1)]


def test_exactly_one_of_fifty_creates_of_a_key_succeeds(serve: Callable[[], str], key: str) -> None:
    urls = (serve(), serve())

    def create(number: int) -> int:
        members = {"name": "City", "data_type": "text"}
        return send(urls[number % 2], key, "POST", members=members)[0]

    with ThreadPoolExecutor(50) as pool:
        statuses = sorted(pool.map(create, range(50)))
    assert statuses == [201] + [409] * 49


@pytest.mark.parametrize("rounds", [25])
def test_patches_of_different_members_lose_nothing(
    serve: Callable[[], str], key: str, rounds: int
) -> None:
    urls = (serve(), serve())
    send(urls[0], key, "POST", members={"name": "0", "key": "counter", "data_type": "number"})
    members: list[tuple[str, Callable[[int], object]]] = [
        ("name", str),
        ("allowed_values", lambda number: [number]),
        ("custom_insertion_code", str),
        ("custom_value_expression", str),
    ]

    def change(worker: int) -> None:
        member, value = members[worker % 4]
        for number in range(rounds):
            sent = {member: value(worker * rounds + number)}
            assert send(urls[worker % 2], key, "PATCH", f"{FIELDS}/counter", sent)[0] == 200

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(change, range(8)))
    (field,) = json.loads(send(urls[0], key)[1])["recipient_fields"]
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
