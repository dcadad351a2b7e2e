"""The Flask example: the service mounted below a path, and the core in its views."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from attrs import evolve
from flask.testing import FlaskClient

from recipient_fields.domain import StorageUnavailable

from .conftest import EXAMPLES, FIELDS, Site, example, served

CITY = {"recipient_field": {"name": "City", "data_type": "text"}}
ADA = {"Authorization": "Bearer token-of-ada"}
BOB = {"Authorization": "Bearer token-of-bob"}


@pytest.fixture
def client() -> FlaskClient:
    client: FlaskClient = example("flask_app").create_app().test_client()
    return client


@pytest.fixture(scope="module")
def site() -> Iterator[Site]:
    command = ("flask", "--app", "flask_app", "run", "--port", "{port}")
    with served(command, EXAMPLES, ready="/merge-tags") as site:
        yield site


def test_users_of_the_host_use_the_service_and_its_views_over_http(site: Site) -> None:
    ada = evolve(site, token="token-of-ada")

    created = ada.send("POST", FIELDS, CITY)
    question_field = ada.send("POST", "/survey-questions", form="question=Shoe+size")

    assert (created.status, created.headers["location"]) == (201, f"{FIELDS}/1")
    assert (question_field.status, question_field.json["key"]) == (201, "shoe_size")
    assert ada.send("GET", created.headers["location"]).json == created.json
    assert ada.send("GET", "/merge-tags").json == {"city": "City", "shoe_size": "Shoe size"}
    assert ada.send("GET", "/fields/openapi.json").json["servers"] == [{"url": "/fields"}]
    for path in (FIELDS, "/merge-tags"):
        assert evolve(site, token="token-of-eve").send("GET", path).status == 401
        assert site.send("GET", path).status == 401


def test_a_user_with_read_access_can_only_read(client: FlaskClient) -> None:
    assert client.get(FIELDS, headers=BOB).status_code == 200
    refused = client.post(FIELDS, headers=BOB, json=CITY)
    assert refused.status_code == 403
    assert refused.json
    assert refused.json["error"]["reason"] == "insufficient_scope"


@pytest.mark.parametrize(
    ("question", "status", "message"),
    [("City", 409, "already exists"), (" ", 422, "name: "), ("日本", 422, "key: ")],
)
def test_the_host_returns_the_errors_of_the_core(
    client: FlaskClient, question: str, status: int, message: str
) -> None:
    client.post(FIELDS, headers=ADA, json=CITY)

    refused = client.post("/survey-questions", headers=ADA, data={"question": question})

    assert refused.status_code == status
    assert refused.json
    assert message in refused.json["message"]


def test_a_user_with_read_access_creates_nothing_in_the_view_of_the_host(
    client: FlaskClient,
) -> None:
    refused = client.post("/survey-questions", headers=BOB, data={"question": "City"})

    assert refused.status_code == 403
    assert client.get("/merge-tags", headers=BOB).json == {}


def test_the_response_to_a_storage_failure_contains_no_secret(
    client: FlaskClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: Any) -> None:
        raise StorageUnavailable("PostgreSQL: host db-7 is down")

    monkeypatch.setattr("recipient_fields.adapters.memory.fields.MemoryFieldRepository.all", fail)

    response = client.get("/merge-tags", headers=ADA)

    assert (response.status_code, response.json) == (503, {"message": "Try again shortly."})
