"""The option `--url`: commands that use a service instead of a storage."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from attrs import evolve, frozen

from recipient_fields.application import Core
from recipient_fields.domain import Access, DataType, FieldDraft, FieldKey, OrganizationId

from ...adapters.client.live_server import Application, Keyring, application, live_server
from ...support.command_line import SCRIPT, CommandLine, Run, environment_with
from ...support.http_server import StubResponse, stub_server

KEY = "rfk_0123456789ABCDEFGHIJKLMNOPQRSTUV0AuoEA"
DOCUMENT = "fields:\n  city: {name: City, data_type: text}\n"


@pytest.fixture
def document(tmp_path: Path) -> Path:
    path = tmp_path / "recipient-fields.yaml"
    path.write_text(DOCUMENT)
    return path


@frozen
class Service:
    """A service in this process."""

    url: str
    key: str

    def options(self) -> tuple[str, str]:
        return "--url", self.url


@pytest.fixture
def serve(core: Core, acme: OrganizationId) -> Iterator[Service]:
    with live_server(application(core.storage, core.fields)) as url:
        yield Service(url, Keyring(core.storage)[acme])


@pytest.fixture
def plan(cli: CommandLine, document: Path) -> Callable[..., Run]:
    def plan(*arguments: str, key: str = KEY, **variables: str) -> Run:
        return cli("plan", document, *arguments, RECIPIENT_FIELDS_API_KEY=key, **variables)

    return plan


class TestOptions:
    @pytest.mark.parametrize("other", [("--storage", "memory:"), ("--organization", "1")])
    def test_url_excludes_a_storage_and_an_organization(self, plan, other):
        assert plan("--url", "https://example.com", *other).usage_error() == (
            f"--url (RECIPIENT_FIELDS_URL) can't be combined with {other[0]}"
            f" (RECIPIENT_FIELDS_{other[0].lstrip('-').upper()})."
        )

    @pytest.mark.parametrize("command", ["plan", "apply"])
    def test_url_excludes_a_storage_before_the_command(self, cli, document, command):
        run = cli("--storage", "memory:", command, document, "--url", "https://example.com")
        assert "can't be combined with --storage" in run.usage_error()

    def test_both_variables_are_a_usage_error(self, plan):
        run = plan(RECIPIENT_FIELDS_URL="https://example.com")
        assert "can't be combined with --storage" in run.usage_error()

    def test_an_option_takes_precedence_over_variables(self, plan, serve, acme):
        variables = {"RECIPIENT_FIELDS_ORGANIZATION": "7", "RECIPIENT_FIELDS_URL": "https://a.test"}
        assert plan(*serve.options(), key=serve.key, **variables).status == 3
        assert plan("--organization", str(acme), **variables).status == 3

    def test_one_of_them_is_required(self, cli, document):
        for command in (("plan", document), ("apply", document), ("fields", "export")):
            assert cli(*command).usage_error() == "Missing option '--organization' or '--url'."

    @pytest.mark.parametrize("url", ["example.com", "ftp://example.com", "http://u:p@localhost"])
    def test_an_invalid_url_is_a_usage_error(self, plan, url):
        message = "Invalid value for '--url': Invalid URL of the service: use one like https://"
        assert plan("--url", url).usage_error().startswith(message)

    def test_a_key_is_not_sent_in_plain_text(self, plan):
        assert plan("--url", "http://fields.example.com").usage_error() == (
            "Invalid value for '--url': API keys would be sent in plain text. Use https."
        )


class TestFailures:
    def test_a_missing_key(self, plan):
        assert plan("--url", "http://127.0.0.1:9", key="").failure() == (
            "To use --url, set RECIPIENT_FIELDS_API_KEY."
        )

    @pytest.mark.parametrize("key", [KEY, "not a key"])
    def test_a_refused_key(self, plan, serve, key):
        assert plan(*serve.options(), key=key).failure() == (
            "RECIPIENT_FIELDS_API_KEY: The service rejected the API key of this organization. Use a"
            " valid key."
        )

    def test_an_unreachable_service(self, plan):
        assert plan("--url", "http://127.0.0.1:9").failure() == (
            "http://127.0.0.1:9: The service can't be reached: no connection can be opened."
            " Check --url, and that the service runs."
        )

    def test_another_site(self, plan):
        with stub_server(lambda _: StubResponse(404, b"<html>")) as server:
            assert plan("--url", server.url).failure() == (
                f"{server.url}: The service, or a proxy in front of it, sent the status 404,"
                " without a valid error document. Check --url, and that the service runs."
            )

    def test_a_wrong_path(self, plan, serve):
        assert plan("--url", f"{serve.url}/api/v1", key=serve.key).failure() == (
            "There is no API of recipient fields at --url. Check its host and its path: they come"
            " before /api/v1."
        )


@pytest.fixture
def apply(cli: CommandLine, core: Core, acme: OrganizationId, document: Path) -> Callable[..., Run]:
    """Return a function that applies the document to a service with this application."""

    def apply(app: Application, access: Access = Access.READ_WRITE) -> Run:
        key = Keyring(core.storage, access)[acme]
        with live_server(app) as url:
            arguments = ("apply", document, "--url", url, "--yes")
            return cli(*arguments, RECIPIENT_FIELDS_API_KEY=key)

    return apply


def keys(core: Core, organization: OrganizationId) -> list[str]:
    return [field.key for field in core.fields.list_fields(organization).fields]


def before_a_batch(app: Application, change: Callable[[dict[str, Any]], object]) -> Application:
    """Return the application with a function that is called with the environ of each batch."""

    def changed(environ, start_response):
        if environ["PATH_INFO"].endswith("_batches"):
            change(environ)
        return app(environ, start_response)

    return changed


class TestRejections:
    def test_a_read_only_key(self, apply, core, acme):
        run = apply(application(core.storage), Access.READ_ONLY)
        assert run.err == (
            "Error: This API key can only read. Use a key with read and write access.\n"
        )
        assert (run.status, keys(core, acme)) == (1, [])

    def test_a_service_without_batches(self, apply, core, acme):
        app = before_a_batch(
            application(core.storage), lambda environ: environ.update(PATH_INFO="/api/v1/unknown")
        )
        run = apply(app)
        assert run.err == (
            "Error: The service does not support batches of changes. Update the service.\n"
        )
        assert (run.status, keys(core, acme)) == (1, [])

    def test_a_change_at_the_same_time(self, apply, core, acme):
        draft = FieldDraft(name="Shop", data_type=DataType.TEXT)
        app = before_a_batch(
            application(core.storage), lambda _: core.fields.create_field(acme, draft)
        )
        run = apply(app)
        assert run.err == (
            "Error: Fields or names have changed since the plan. Nothing was changed. Plan again.\n"
        )
        assert (run.status, keys(core, acme)) == (1, ["shop"])

    def test_a_lower_limit_of_the_service(self, apply, core, acme, document):
        fields = {f"k{n:03}": {"name": "K", "data_type": "text"} for n in range(150)}
        document.write_text(json.dumps({"fields": fields}))
        run = apply(application(core.storage, evolve(core.fields, limit=10)))
        assert (run.status, keys(core, acme)) == (1, [])
        lines = run.err.splitlines()
        assert lines[0] == (
            "k010: The organization has reached its limit of 10 API-managed fields. Delete one that"
            " is not needed."
        )
        assert lines[-2:] == [
            "… and 40 more.",
            "Error: 140 changes can't be applied. Nothing was changed. Plan again.",
        ]

    def test_a_lost_response(self, apply, core, acme):
        app = application(core.storage)

        def broken(environ, start_response):
            body = app(environ, start_response)
            if environ["PATH_INFO"].endswith("_batches"):
                raise RuntimeError("The process ends here.")
            return body

        run = apply(broken)
        assert run.status == 1
        assert run.err.endswith(
            " The changes may be applied. To see whether they are, plan again.\n"
        )
        assert keys(core, acme) == ["city"]


def test_a_plan_of_the_storage_can_be_applied_to_the_service(
    cli, serve, core, acme, document, tmp_path
):
    saved = tmp_path / "plan.json"
    assert cli("plan", document, "--organization", acme, "--out", saved).status == 3
    command = ("apply", saved, *serve.options(), "--yes")
    assert cli(*command, RECIPIENT_FIELDS_API_KEY=serve.key).status == 0
    assert core.fields.get_field(acme, FieldKey("city")).name == "City"


def test_no_storage_is_imported(script, serve, document):
    environment = {"RECIPIENT_FIELDS_API_KEY": serve.key, "PYTHONPROFILEIMPORTTIME": "1"}
    run = script("plan", document, *serve.options(), environment=environment)
    modules = {line.rpartition("|")[2].strip() for line in run.err.splitlines()}
    assert run.status == 3
    assert "recipient_fields.adapters.client.client" in modules
    assert modules.isdisjoint(
        {
            *("recipient_fields.adapters.memory", "recipient_fields.adapters.sqlite", "sqlite3"),
            *("recipient_fields.adapters.postgres", "psycopg", "falcon", "waitress", "argon2"),
        }
    )


_MEASURED = """
import resource, subprocess, sys
status = subprocess.call(sys.argv[1:], stdout=subprocess.DEVNULL)
usage = resource.getrusage(resource.RUSAGE_CHILDREN)
print(status, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024)
"""
"""Prints the exit status of a command, its CPU time in seconds and its memory in MiB.

The memory of a new process includes that of its parent, so this small process starts it.
"""


@pytest.mark.slow
def test_a_plan_of_a_thousand_fields_takes_a_second_and_80_mib(
    serve, core, acme, document, tmp_path
):
    fields = {
        f"field_{n}": {"name": f"Field {n}", "data_type": "text", "allowed_values": ["a", "b"]}
        for n in range(1_000)
    }
    document.write_text(json.dumps({"fields": fields}, indent=2))
    for key in fields:
        core.fields.create_field(acme, FieldDraft(name=key, data_type=DataType.TEXT))
    variables = {
        "RECIPIENT_FIELDS_API_KEY": serve.key,
        "PYTHONDONTWRITEBYTECODE": "",
        "PYTHONPYCACHEPREFIX": str(tmp_path / "bytecode"),
    }
    command = [sys.executable, "-c", _MEASURED, SCRIPT, "plan", str(document), *serve.options()]
    runs = []
    for _ in range(4):  # The first run compiles the modules.
        output = subprocess.check_output(command, env=environment_with(variables), text=True)
        status, seconds, mebibytes = map(float, output.split())
        assert status == 3
        assert mebibytes <= 80
        runs.append(seconds)
    # Other tests run at the same time, so the CPU time is a better measure than the duration.
    assert min(runs) <= 1
