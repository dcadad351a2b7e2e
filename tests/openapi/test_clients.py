"""Generated clients, curl and other HTTP clients work with the service."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Iterator
from importlib import import_module, invalidate_caches
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import httpx2
import pytest
import requests

from ..support.node import NODE, install_packages, run
from .live import Live, bearer, live_service

pytestmark = pytest.mark.slow

EXECUTABLES = Path(sys.executable).parent
TYPESCRIPT = Path(__file__).parent / "typescript"


@pytest.fixture(scope="module")
def live() -> Iterator[Live]:
    with live_service("memory:") as live:
        yield live


@pytest.fixture
def new_live() -> Iterator[Live]:
    """Run a service that no other test changes."""
    with live_service("memory:") as live:
        yield live


@pytest.fixture(scope="module")
def document(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the path of a file with the document."""
    path = tmp_path_factory.mktemp("document") / "openapi.json"
    with path.open("wb") as file:
        subprocess.run([EXECUTABLES / "recipient-fields", "openapi"], stdout=file, check=True)
    return path


@pytest.fixture
def typescript(document: Path, tmp_path: Path) -> Path:
    """Compile the programs with the types of the document. Return the folder of the results."""
    for source in ("package.json", "tsconfig.json", "client.ts", "history.ts"):
        shutil.copy(TYPESCRIPT / source, tmp_path)
    packages = install_packages(TYPESCRIPT, "typescript")
    (tmp_path / "node_modules").symlink_to(packages)
    run(NODE, packages / ".bin" / "openapi-typescript", document, "--output", tmp_path / "api.d.ts")
    run(NODE, packages / ".bin" / "tsc", "--strict", "--project", tmp_path)
    return tmp_path


@pytest.fixture(scope="module")
def generated(document: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Generate a package from the document with openapi-python-client, and return its name."""
    folder = tmp_path_factory.mktemp("generated")
    plain = folder / "plain.json"
    plain.write_text(json.dumps({"post_hooks": []}))
    run(
        *(EXECUTABLES / "openapi-python-client", "generate", "--path", document),
        *("--output-path", folder / "generated_client", "--meta", "none"),
        *("--config", plain, "--fail-on-warning"),
    )
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(folder)
        invalidate_caches()
        yield "generated_client"


def test_a_client_generated_from_the_document_lists_creates_updates_and_deletes(
    generated: str, live: Live
):
    def operation(name: str) -> Any:
        return import_module(f"{generated}.api.recipient_fields.{name}")

    models = import_module(f"{generated}.models")
    authenticated = import_module(f"{generated}.client").AuthenticatedClient
    with authenticated(base_url=live.url, token=live.acme) as client:
        draft = models.RecipientFieldDraft(name="Shoe size", data_type=models.DataType.NUMBER)
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
        assert refusal.error.code is models.ErrorCode.NOT_FOUND


def test_a_generated_python_client_reads_the_history_and_restores(generated: str, new_live: Live):
    authenticated = import_module(f"{generated}.client").AuthenticatedClient
    models = import_module(f"{generated}.models")
    fields = f"{generated}.api.recipient_fields"
    history = import_module(f"{generated}.api.history.list_recipient_field_changes")
    of_field = import_module(f"{generated}.api.history.list_changes_of_recipient_field")
    deletion = import_module(f"{fields}.delete_recipient_field")
    restoration = import_module(f"{fields}.restore_recipient_field")
    listing = import_module(f"{fields}.list_recipient_fields")
    with authenticated(base_url=new_live.url, token=new_live.acme) as client:
        deletion.sync_detailed(client=client, id_or_key="loyalty_tier")
        restored = restoration.sync(client=client, id=1).recipient_field
        operations = [models.RecordedOperation.DELETED, models.RecordedOperation.RESTORED]
        records = history.sync(client=client, operation=operations).recipient_field_changes
        deleted, again = records
        assert (deleted.before.key, deleted.after) == ("loyalty_tier", None)
        assert (again.before, again.after) == (None, restored)
        assert again.actor.channel is models.Source.API
        page = of_field.sync(client=client, id_or_key="1", after=deleted.sequence)
        assert page.recipient_field_changes == [again]
        then = listing.sync(
            client=client, as_of=deleted.occurred_at.isoformat(timespec="milliseconds")
        )
        assert [field.id for field in then.recipient_fields] == [2, 3]


def test_a_generated_python_client_applies_batches(generated: str, new_live: Live):
    models = import_module(f"{generated}.models")
    authenticated = import_module(f"{generated}.client").AuthenticatedClient
    fields = f"{generated}.api.recipient_fields"
    application = import_module(f"{fields}.apply_recipient_field_batch")
    listing = import_module(f"{fields}.list_recipient_fields")
    draft = models.RecipientFieldDraft(name="Shoe size", data_type=models.DataType.NUMBER)
    replacement = models.RecipientFieldReplacement(name="City", data_type=models.DataType.TEXT)
    changes = models.RecipientFieldChanges(name="Level")
    with authenticated(base_url=new_live.url, token=new_live.acme) as client:
        revision = listing.sync_detailed(client=client).headers["ETag"]
        batch = models.RecipientFieldBatch(
            operations=[
                models.CreateOperation(operation="create", recipient_field=draft),
                models.UpdateOperation(
                    operation="update", reference="loyalty_tier", recipient_field=changes
                ),
                models.ReplaceOperation(
                    operation="replace", reference="city", recipient_field=replacement
                ),
                models.DeleteOperation(operation="delete", reference=1),
            ],
            if_revision=revision,
        )

        applied = application.sync(client=client, body=batch)
        created, updated, replaced, deleted = (each.recipient_field for each in applied.results)
        assert (created.key, replaced.name, updated, deleted) == ("shoe_size", "City", None, None)

        again = application.sync_detailed(client=client, body=batch)
        assert (again.status_code, again.parsed.error.code.value) == (412, "precondition_failed")

        batch.if_revision = None
        failed = application.sync_detailed(client=client, body=batch)
        assert failed.status_code == 409
        assert [(each.pointer, each.code.value) for each in failed.parsed.error.details] == [
            ("/operations/0/recipient_field/key", "key_already_exists"),
            ("/operations/1", "not_found"),
            ("/operations/3", "not_found"),
        ]


def test_a_generated_python_client_filters_pages_and_handles_errors(generated: str, new_live: Live):
    models = import_module(f"{generated}.models")
    authenticated = import_module(f"{generated}.client").AuthenticatedClient
    listing = import_module(f"{generated}.api.recipient_fields.list_recipient_fields")
    creation = import_module(f"{generated}.api.recipient_fields.create_recipient_field")
    sources = [models.Source.API, models.Source.MANUAL]
    with authenticated(base_url=new_live.url, token=new_live.acme) as client:

        def create(name: str, **members: Any) -> Any:
            draft = models.RecipientFieldDraft(
                name=name, data_type=models.DataType.NUMBER, **members
            )
            envelope = models.RecipientFieldDraftEnvelope(recipient_field=draft)
            return creation.sync_detailed(client=client, body=envelope)

        types = [models.DataType.TEXT, models.DataType.NUMBER]
        filtered = listing.sync(client=client, source=sources, data_type=types)
        assert [field.key for field in filtered.recipient_fields] == [
            "loyalty_tier",
            "preferred_shop",
        ]

        assert create("Shoe size").parsed.recipient_field.key == "shoe_size"

        taken = create("Shoe size")
        assert taken.status_code == 409
        assert taken.parsed.error.code is models.ErrorCode.KEY_ALREADY_EXISTS

        invalid = create(" ", key="Shoe-Size")
        assert invalid.status_code == 422
        assert invalid.parsed.error.code is models.ErrorCode.VALIDATION_FAILED
        assert {(detail.pointer, detail.code.value) for detail in invalid.parsed.error.details} == {
            ("/recipient_field/name", "blank"),
            ("/recipient_field/key", "format"),
        }

        keys: list[str] = []
        cursor: dict[str, str] = {}
        while True:
            page = listing.sync_detailed(client=client, source=sources, limit=1, **cursor)
            keys += [field.key for field in page.parsed.recipient_fields]
            if "Link" not in page.headers:
                break
            target = urlsplit(requests.utils.parse_header_links(page.headers["Link"])[0]["url"])
            cursor = {"cursor": parse_qs(target.query)["cursor"][0]}
        assert keys == ["loyalty_tier", "preferred_shop", "shoe_size"]


def test_a_generated_python_client_compiles_conditions_exports_content_and_checks_recipients(
    generated: str, live: Live
):
    models = import_module(f"{generated}.models")
    authenticated = import_module(f"{generated}.client").AuthenticatedClient

    def operation(name: str) -> Any:
        return import_module(f"{generated}.api.{name}")

    def compilation(condition: object) -> Any:
        return models.ConditionCompilation(
            condition=condition, esp=models.Esp("sendgrid"), then="A", else_="B"
        )

    with authenticated(base_url=live.url, token=live.acme_read_only) as client:
        compilations = operation("content.compile_condition")
        field = models.Comparison(
            field="loyalty_tier", op=models.ComparisonOp.CONTAINS, value="old"
        )
        for condition in ('not loyalty_tier contains "old"', models.NegatedCondition(not_=field)):
            refused = compilations.sync(client=client, body=compilation(condition))
            assert refused.error.code is models.ErrorCode.NOT_EXPRESSIBLE
        invalid = compilations.sync(client=client, body=compilation("loyalty_teir is set"))
        (detail,) = invalid.error.details
        assert (detail.line, detail.column, detail.suggestion) == (1, 1, "loyalty_tier")

        content = models.ContentExport(
            content="{{recipients.x}}", esp=models.Esp("braze"), strict=False
        )
        exported = operation("content.export_content").sync(client=client, body=content)
        assert (exported.content, exported.fields) == ("{{recipients.x}}", [])
        assert [(each.line, each.column) for each in exported.warnings] == [(1, 1)]

        recipients = [models.Recipient.from_dict({"loyalty_tier": tier}) for tier in ("gold", "x")]
        checked = operation("recipients.check_recipients").sync(
            client=client, body=models.RecipientList(recipients=recipients)
        )
        assert [result.valid for result in checked.results] == [True, False]
        assert checked.results[0].recipient == recipients[0]
        assert [each.code.value for each in checked.results[1].violations] == ["unknown_value"]

        schema = operation("recipients.get_recipient_schema").sync(client=client)
        assert "loyalty_tier" in schema["properties"]


def test_a_typescript_client_filters_creates_pages_and_handles_errors(
    typescript: Path, new_live: Live, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("SERVICE_URL", new_live.url)
    monkeypatch.setenv("API_KEY", new_live.acme)

    received = json.loads(run(NODE, typescript / "client.js"))

    (detail,) = received["taken"].pop()
    assert detail["existing_id"] > 0
    assert received == {
        "filtered": ["loyalty_tier", "preferred_shop"],
        "created": "shoe_size",
        "taken": [409, "key_already_exists"],
        "invalid": [
            422,
            "validation_failed",
            [["/recipient_field/name", "blank"], ["/recipient_field/key", "format"]],
        ],
        "pages": ["shoe_size", "preferred_shop", "loyalty_tier"],
        "applied": ["Hat size", "Feet", None],
        "failed": [404, [["/operations/0", "not_found"]]],
        "compiled": [422, "not_expressible"],
        "exported": ["Hello", []],
        "checked": [True, False],
    }


def test_a_typescript_client_reads_the_history_and_restores(
    typescript: Path, new_live: Live, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("SERVICE_URL", new_live.url)
    monkeypatch.setenv("API_KEY", new_live.acme)

    received = json.loads(run(NODE, typescript / "history.js"))

    assert received == {
        "operations": ["created", "created", "created", "deleted", "restored"],
        "ofField": [4, 5],
        "deletion": ["api", "loyalty_tier", None],
        "restoration": [None, received["restored"]],
        "restored": received["restored"],
        "again": [409, "key_already_exists"],
        "then": ["preferred_shop", "first_name"],
    }


def test_curl_requests_headers_only(live: Live):
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


@pytest.mark.parametrize("get", [requests.get, httpx2.get])
def test_conditional_requests_get_no_body(live: Live, get: Any):
    for url in (live.fields, f"{live.fields}/loyalty_tier", f"{live.url}/openapi.json"):
        first = get(url, headers=bearer(live.acme))
        known = {**bearer(live.acme), "If-None-Match": first.headers["ETag"]}

        again = get(url, headers=known)

        assert (first.status_code, again.status_code) == (200, 304)
        assert again.content == b""
        assert again.headers["ETag"] == first.headers["ETag"]


def test_following_links_finds_every_field_once(live: Live):
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
