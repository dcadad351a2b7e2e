"""The FastAPI example: the core in its routes, and the service mounted below a path."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import Any

import pytest
from attrs import evolve, frozen
from httpx2 import ASGITransport, AsyncClient, Response

from recipient_fields.domain import StorageUnavailable

from .conftest import EXAMPLES, FIELDS, Site, example, served

CITY = {"recipient_field": {"name": "City", "data_type": "text"}}
ADA = {"Authorization": "Bearer token-of-ada"}
BOB = {"Authorization": "Bearer token-of-bob"}


@frozen
class Client:
    """A client for the application in this process."""

    app: Any

    def get(self, path: str, **request: Any) -> Response:
        return self.send("GET", path, **request)

    def post(self, path: str, **request: Any) -> Response:
        return self.send("POST", path, **request)

    def send(self, method: str, path: str, **request: Any) -> Response:
        async def send() -> Response:
            transport = ASGITransport(self.app)
            async with AsyncClient(transport=transport, base_url="http://host") as client:
                return await client.request(method, path, **request)

        return asyncio.run(send())


@pytest.fixture
def client() -> Client:
    return Client(example("fastapi_app").app)


@pytest.fixture(scope="module")
def site() -> Iterator[Site]:
    command = ("uvicorn", "--port", "{port}", "fastapi_app:app")
    with served(command, EXAMPLES, ready="/merge-tags") as site:
        yield site


def test_users_of_the_host_use_its_routes_and_the_service_over_http(site: Site) -> None:
    ada = evolve(site, token="token-of-ada")

    created = ada.send("POST", FIELDS, CITY)
    question_field = ada.send(
        "POST", "/survey-questions", {"text": "Shoe size", "answer": "number"}
    )

    assert (created.status, created.headers["location"]) == (201, f"{FIELDS}/1")
    assert (
        question_field.status,
        question_field.json["key"],
        question_field.json["data_type"],
    ) == (
        201,
        "shoe_size",
        "number",
    )
    assert ada.send("GET", created.headers["location"]).json == created.json
    assert ada.send("GET", "/merge-tags").json == {"city": "City", "shoe_size": "Shoe size"}
    assert ada.send("GET", "/fields/openapi.json").json["servers"] == [{"url": "/fields"}]
    for path in (FIELDS, "/merge-tags"):
        assert evolve(site, token="token-of-eve").send("GET", path).status == 401
        assert site.send("GET", path).status == 401


def test_a_user_with_read_access_can_only_read(client: Client) -> None:
    assert client.get(FIELDS, headers=BOB).status_code == 200
    assert client.post(FIELDS, headers=BOB, json=CITY).status_code == 403
    assert client.post("/survey-questions", headers=BOB, json={"text": "City"}).status_code == 403
    assert client.get("/merge-tags", headers=ADA).json() == {}


@pytest.mark.parametrize(
    ("question", "status", "message"),
    [("City", 409, "already exists"), (" ", 422, "name: "), ("日本", 422, "key: ")],
)
def test_the_host_returns_the_errors_of_the_core(
    client: Client, question: str, status: int, message: str
) -> None:
    client.post(FIELDS, headers=ADA, json=CITY)

    refused = client.post("/survey-questions", headers=ADA, json={"text": question})

    assert refused.status_code == status
    assert message in refused.json()["detail"]


def test_a_body_that_the_model_of_the_host_rejects_never_reaches_the_core(client: Client) -> None:
    refused = client.post(
        "/survey-questions", headers=ADA, json={"text": "City", "answer": "picture"}
    )
    assert refused.status_code == 422
    assert client.get("/merge-tags", headers=ADA).json() == {}


def test_the_response_to_a_storage_failure_contains_no_secret(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: Any) -> None:
        raise StorageUnavailable("PostgreSQL: host db-7 is down")

    monkeypatch.setattr("recipient_fields.adapters.memory.fields.MemoryFieldRepository.all", fail)

    response = client.get("/merge-tags", headers=ADA)

    assert (response.status_code, response.json()) == (503, {"detail": "Try again shortly."})
