"""Several processes on one SQLite file."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest

from recipient_fields.application import IssuedKey
from recipient_fields.domain import OrganizationId

from ..support.command_line import Script
from ..support.service import FIELDS, Service, require_statuses
from .conftest import Start, checked

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def services(service: Service, storage: str) -> Iterator[tuple[Service, Service]]:
    with checked(Service(storage)) as other:
        yield service, other


def test_a_revoked_key_is_rejected_by_both_services(
    services: tuple[Service, Service], script: Script, issued: IssuedKey, key: str
) -> None:
    assert [service.client(key)("GET", FIELDS).status for service in services] == [200, 200]

    organization = issued.api_key.organization_id
    script("keys", "revoke", issued.api_key.id, "--organization", organization, "--yes")

    assert [service.client(key)("GET", FIELDS).status for service in services] == [401, 401]


def test_both_services_return_the_same_data(services: tuple[Service, Service], key: str) -> None:
    one, other = (service.client(key) for service in services)

    created = one.create(name="Shop")
    read = other("GET", f"{FIELDS}/shop")
    changed = other.change("shop", name="Boutique")

    assert read.body == created.body
    assert read.headers["ETag"] == created.headers["ETag"]
    assert one("GET", f"{FIELDS}/shop").body == changed.body
    assert one("DELETE", f"{FIELDS}/shop").status == 204
    assert other("GET", f"{FIELDS}/shop").status == 404


def test_a_version_that_one_service_has_replaced_does_not_match_at_the_other(
    services: tuple[Service, Service], key: str
) -> None:
    one, other = (service.client(key) for service in services)
    tag = one.create(name="Shop").headers["ETag"]
    other.change("shop", name="Boutique")

    document = {"recipient_field": {"name": "Store"}}
    response = one("PATCH", f"{FIELDS}/shop", document, **{"If-Match": tag})

    assert response.status == 412


def test_exactly_one_of_fifty_concurrent_creates_of_a_key_gets_201(
    services: tuple[Service, Service], key: str
) -> None:
    clients = [service.client(key) for service in services] * 25

    with ThreadPoolExecutor(len(clients)) as pool:
        responses = list(pool.map(lambda client: client.create(name="Shop"), clients))

    require_statuses(responses, 201, 409)
    assert [response.status for response in responses].count(201) == 1
    (stored,) = clients[0].fields()
    rejected = (response.document["error"] for response in responses if response.status == 409)
    assert {error["details"][0]["existing_id"] for error in rejected} == {stored["id"]}


def test_concurrent_changes_of_different_members_lose_nothing(
    services: tuple[Service, Service], key: str
) -> None:
    clients = [service.client(key) for service in services]
    clients[0].create(name="Shop")
    rounds = range(25)
    series: list[tuple[str, list[object]]] = [
        ("name", [f"Shop {n}" for n in rounds]),
        ("insertable", [n % 2 == 1 for n in rounds]),
        ("allowed_values", [[f"{n}"] for n in rounds]),
        ("custom_insertion_code", [f"{{{{{n}}}}}" for n in rounds]),
        ("custom_value_expression", [f"@{n}" for n in rounds]),
    ]

    def change(number: int) -> None:
        member, values = series[number]
        client = clients[number % 2]
        require_statuses((client.change("shop", **{member: value}) for value in values), 200)

    with ThreadPoolExecutor(len(series)) as pool:
        list(pool.map(change, range(len(series))))

    (field,) = clients[0].fields()
    for member, values in series:
        assert field[member] == values[-1]


def test_commands_work_while_the_service_writes(
    service: Service, script: Script, acme: OrganizationId, key: str
) -> None:
    client = service.client(key)
    create = ("fields", "create", "--organization", acme, "--data-type", "text", "--name")

    with ThreadPoolExecutor(5) as pool:
        runs = [pool.submit(script, *create, f"Manual {n}") for n in range(2)]
        runs += [pool.submit(script, "keys", "create", *create[2:4], "--name", "K")]
        writes = [pool.submit(client.create, name=f"Api {n}") for n in range(60)]

    assert [run.result().err for run in runs if run.result().status != 0] == []
    require_statuses((write.result() for write in writes), 201)
    names = Counter(field["name"] for field in client.fields())
    assert names == Counter([f"Manual {n}" for n in range(2)] + [f"Api {n}" for n in range(60)])


def test_a_manual_field_is_read_only_through_the_api(
    service: Service, script: Script, acme: OrganizationId, key: str
) -> None:
    create = ("fields", "create", "--organization", acme, "--name", "Shop", "--data-type", "text")
    created = script(*create, "--json").document()
    client = service.client(key)

    assert client("GET", f"{FIELDS}/shop").document == created
    assert client.change("shop", name="Mine").status == 403
    assert client("DELETE", f"{FIELDS}/shop").status == 403
    assert client("GET", f"{FIELDS}/shop").document == created


def test_an_api_field_is_read_only_on_the_command_line(
    service: Service, script: Script, acme: OrganizationId, key: str
) -> None:
    field = service.client(key).create(name="Shop").document["recipient_field"]
    organization = ("--organization", acme)

    assert script("fields", "list", *organization, "--json").document() == {
        "recipient_fields": [field]
    }
    rule = "API-managed fields are changed through the API or with a document of fields,"
    update = script("fields", "update", "shop", *organization, "--name", "Mine")
    assert update.failure().startswith(rule)
    assert script("fields", "delete", "shop", *organization, "--yes").failure().startswith(rule)


@pytest.mark.parametrize("setting", ["--field-limit=1", "RECIPIENT_FIELDS_FIELD_LIMIT"])
def test_the_limit_of_fields_can_be_set(start: Start, key: str, setting: str) -> None:
    service = start(setting) if setting.startswith("--") else start(**{setting: "1"})
    client = service.client(key)

    assert client.create(name="Shop").status == 201
    rejected = client.create(name="City")

    assert (rejected.status, rejected.code) == (409, "field_limit_reached")
