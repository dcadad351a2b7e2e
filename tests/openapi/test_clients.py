"""Other people's HTTP clients work with the service unaided."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from importlib import import_module, invalidate_caches
from pathlib import Path
from typing import Any

import httpx
import pytest
import requests

from .live import Live, bearer, live_service

EXECUTABLES = Path(sys.executable).parent


@pytest.fixture(scope="module")
def live() -> Iterator[Live]:
    with live_service("memory:") as live:
        yield live


@pytest.fixture
def generated(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """The name of a package that openapi-python-client makes of the document."""
    document = tmp_path / "openapi.json"
    with document.open("wb") as file:
        subprocess.run([EXECUTABLES / "recipient-fields", "openapi"], stdout=file, check=True)
    plain = tmp_path / "plain.json"
    plain.write_text(json.dumps({"post_hooks": []}))
    generation = subprocess.run(
        [
            *(EXECUTABLES / "openapi-python-client", "generate", "--path", document),
            *("--output-path", tmp_path / "generated_client", "--meta", "none"),
            *("--config", plain, "--fail-on-warning"),
        ],
        capture_output=True,
        text=True,
        check=False,
    )
    assert generation.returncode == 0, generation.stdout
    monkeypatch.syspath_prepend(tmp_path)
    invalidate_caches()
    return "generated_client"


def test_a_client_generated_from_the_document_lists_creates_updates_and_deletes(
    generated: str, live: Live
) -> None:
    def operation(name: str) -> Any:
        return import_module(f"{generated}.api.recipient_fields.{name}")

    models = import_module(f"{generated}.models")
    authenticated = import_module(f"{generated}.client").AuthenticatedClient
    with authenticated(base_url=live.url, token=live.acme) as client:
        data_type = models.RecipientFieldDraftDataType.NUMBER
        draft = models.RecipientFieldDraft(name="Shoe size", data_type=data_type)
        envelope = models.RecipientFieldDraftEnvelope(recipient_field=draft)
        created = operation("create_recipient_field").sync(client=client, body=envelope)
        assert created.recipient_field.key == "shoe_size"

        descending = models.ListRecipientFieldsSort("-id")
        listed = operation("list_recipient_fields").sync(client=client, limit=2, sort=descending)
        assert [field.key for field in listed.recipient_fields] == ["shoe_size", "first_name"]

        changes = models.RecipientFieldChanges(insertable=False)
        envelope = models.RecipientFieldChangesEnvelope(recipient_field=changes)
        changed = operation("update_recipient_field").sync(
            client=client, id_or_key="shoe_size", body=envelope
        )
        assert changed.recipient_field.insertable is False
        assert changed.recipient_field.updated_at > created.recipient_field.updated_at

        deletion = operation("delete_recipient_field").sync_detailed(
            client=client, id_or_key=str(created.recipient_field.id)
        )
        assert deletion.status_code == 204

        refusal = operation("get_recipient_field").sync(client=client, id_or_key="shoe_size")
        assert refusal.error.code is models.ErrorErrorCode.NOT_FOUND


def test_curl_asks_for_headers_alone(live: Live) -> None:
    head = subprocess.run(
        ["curl", "-sSI", live.fields, "-H", f"Authorization: Bearer {live.acme}"],
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    read = requests.get(live.fields, headers=bearer(live.acme), timeout=10)

    status, *lines = head.strip().splitlines()
    headers = {name.lower(): value.strip() for name, _, value in (n.partition(":") for n in lines)}
    assert status.startswith("HTTP/1.1 200")
    for name in ("content-length", "content-type", "etag", "total-count", "cache-control", "vary"):
        assert headers[name] == read.headers[name]


@pytest.mark.parametrize("get", [requests.get, httpx.get])
def test_conditional_requests_spare_the_body(live: Live, get: Any) -> None:
    for url in (live.fields, f"{live.fields}/loyalty_tier", f"{live.url}/openapi.json"):
        first = get(url, headers=bearer(live.acme))
        known = {**bearer(live.acme), "If-None-Match": first.headers["ETag"]}

        again = get(url, headers=known)

        assert (first.status_code, again.status_code) == (200, 304)
        assert again.content == b""
        assert again.headers["ETag"] == first.headers["ETag"]


def test_following_links_finds_every_field_once(live: Live) -> None:
    found: list[str] = []
    with requests.Session() as session:
        session.headers.update(bearer(live.globex))
        for number in range(7):
            field = {"name": f"Field {number}", "data_type": "text"}
            session.put(f"{live.fields}/field_{number}", json={"recipient_field": field})
        url: str | None = f"{live.fields}?limit=3&sort=-key"
        while url is not None:
            page = session.get(url)
            assert page.headers["Total-Count"] == "10"
            found += [field["key"] for field in page.json()["recipient_fields"]]
            following = page.links.get("next")
            url = None if following is None else f"{live.url}{following['url']}"

    names = ("preferred_shop", "loyalty_tier", "first_name")
    assert found == sorted([*names, *(f"field_{n}" for n in range(7))], reverse=True)
