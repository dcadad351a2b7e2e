"""The service mounted below a path of another WSGI application."""

from __future__ import annotations

import logging
import re
import shutil
import subprocess
import sys
from collections.abc import Iterable
from contextlib import closing
from pathlib import Path
from urllib.parse import quote, urljoin
from wsgiref.types import StartResponse, WSGIApplication, WSGIEnvironment

import pytest
from attrs import evolve
from werkzeug.middleware.dispatcher import DispatcherMiddleware
from werkzeug.test import Client

from recipient_fields.adapters.memory import MemoryStorage
from recipient_fields.adapters.sqlite import SqliteStorage
from recipient_fields.application import Core
from recipient_fields.domain import DataType, FieldDraft
from recipient_fields.entrypoints.http import create_app

from .conftest import EXAMPLES, FIELDS, served

CITY = {"recipient_field": {"name": "City", "data_type": "text"}}


@pytest.fixture
def core() -> Core:
    return Core.over(MemoryStorage())


@pytest.fixture
def bearer(core: Core) -> dict[str, str]:
    """Return the headers of a key that can write to an organization with three fields."""
    organization = core.administration.create_organization("Bakery")
    for name in ("One", "Two", "Three"):
        core.fields.create_field(organization.id, FieldDraft(name=name, data_type=DataType.TEXT))
    issued = core.administration.issue_key(organization.id, name="Test")
    return {"Authorization": f"Bearer {issued.plain.reveal()}"}


def service(core: Core) -> WSGIApplication:
    return create_app(core)


def mounted(core: Core, path: str) -> Client:
    as_wsgi_spells_it = path.encode().decode("latin-1")
    return Client(DispatcherMiddleware(nowhere, {as_wsgi_spells_it: service(core)}))


def nowhere(_environ: WSGIEnvironment, _start: StartResponse) -> Iterable[bytes]:
    raise AssertionError("The request reached the host application.")


def test_the_example_serves_the_host_and_the_fields_over_http(tmp_path: Path) -> None:
    shutil.copy(EXAMPLES / "mounted.py", tmp_path)
    with closing(SqliteStorage(str(tmp_path / "fields.db"))) as storage:
        core = Core.over(storage)
        bakery = core.administration.create_organization("Bakery")
        key = core.administration.issue_key(bakery.id, name="Test").plain.reveal()
    command = ("waitress", "--listen", "127.0.0.1:{port}", "--call", "mounted:host")

    with served(command, tmp_path, ready="/") as site:
        assert site.send("GET", "/anything").body == b"Our own page.\n"
        assert site.send("GET", "/fields/readyz").status == 200
        caller = evolve(site, token=key)
        created = caller.send("POST", FIELDS, CITY)
        assert caller.send("GET", created.headers["location"]).json == created.json


@pytest.mark.parametrize("path", ["/fields", "/our/fields", "/größe & mehr"])
def test_all_urls_of_the_service_are_below_the_path(
    core: Core, bearer: dict[str, str], path: str
) -> None:
    client = mounted(core, path)

    page = client.get(f"{path}/api/v1/recipient_fields?limit=2", headers=bearer)
    following = re.fullmatch(r'<([\x21-\x7e]+)>; rel="next"', page.headers["Link"])
    assert following
    rest = client.get(following[1], headers=bearer).json
    assert rest
    assert [field["key"] for field in rest["recipient_fields"]] == ["three"]

    created = client.post(f"{path}/api/v1/recipient_fields", headers=bearer, json=CITY)
    assert created.headers["Location"].isascii()
    assert client.get(created.headers["Location"], headers=bearer).json == created.json

    contract = client.get(f"{path}/openapi.json").json
    assert contract
    [server] = contract["servers"]
    operation = server["url"] + "/api/v1/recipient_fields"
    assert client.get(operation, headers=bearer).status_code == 200


def test_the_openapi_document_has_the_root_as_server(core: Core) -> None:
    contract = Client(service(core)).get("/openapi.json").json
    assert contract
    assert contract["servers"] == [{"url": "/"}]


def test_each_mount_path_has_its_own_openapi_document(core: Core) -> None:
    app = service(core)
    client = Client(DispatcherMiddleware(app, {"/one": app, "/two": app}))
    for path in ("/one", "/two", "", "/one"):
        contract = client.get(f"{path}/openapi.json").json
        assert contract
        assert contract["servers"] == [{"url": path or "/"}]


def test_the_reference_loads_all_files_from_below_the_path(core: Core) -> None:
    client = mounted(core, "/fields")
    page = client.get("/fields/docs").text
    links = [urljoin("/fields/docs", link) for link in re.findall(r'(?:href|src)="([^"]+)"', page)]
    start = client.get("/fields/docs/start.js").text
    [document] = re.findall(r'url: "([^"]+)"', start)

    assert len(links) > 4
    for link in (*links, urljoin("/fields/docs", document)):
        assert client.get(link).status_code == 200


@pytest.mark.parametrize("path", ["/fields", "/our/fields", "/größe & mehr"])
def test_a_browser_is_redirected_to_the_reference_below_the_path(core: Core, path: str) -> None:
    client = mounted(core, path)
    page_path = quote(path, safe="/&") + "/docs"
    for opened in (path, f"{path}/"):
        response = client.get(opened, headers={"Accept": "text/html,*/*;q=0.8"})
        assert (response.status_code, response.headers["Location"]) == (302, page_path)
        page = client.get(response.headers["Location"], headers={"Accept": "text/html"})
        assert page.status_code == 200


def test_a_request_without_a_key_below_the_path_is_rejected(core: Core) -> None:
    client = mounted(core, "/fields")
    for path in (FIELDS, "/fields/api/v1/nothing"):
        assert client.get(path).status_code == 401
    for path in ("/fields", "/fields/", "/fields/nothing"):
        assert client.get(path).status_code == 404


def test_the_logging_configuration_of_the_host_is_not_changed() -> None:
    """The service uses the loggers below `recipient_fields`; the host configures them."""
    program = """
import logging
from recipient_fields.adapters.memory import MemoryStorage
from recipient_fields.application import Core
from recipient_fields.entrypoints.http import create_app
core = Core.over(MemoryStorage())
app = create_app(core)
loggers = [logging.root, *map(logging.getLogger, logging.root.manager.loggerDict)]
assert not any(logger.handlers for logger in loggers if "concurrent" not in logger.name)
assert logging.getLogger("recipient_fields").level == logging.NOTSET
assert logging.root.level == logging.WARNING
"""
    subprocess.run([sys.executable, "-c", program], check=True)


def test_the_log_of_the_host_contains_the_requests(
    core: Core, bearer: dict[str, str], caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.INFO, "recipient_fields"):
        mounted(core, "/fields").get(FIELDS, headers=bearer)
    [record] = [record for record in caplog.records if record.name == "recipient_fields.requests"]
    facts = record.__dict__["facts"]
    assert (facts["route"], facts["status"]) == ("/api/v1/recipient_fields", 200)
