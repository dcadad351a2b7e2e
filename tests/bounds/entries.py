"""The entries for text: what clients send over HTTP, administrators in forms, and files."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cached_property, partial
from pathlib import Path
from typing import Any, TypeAlias
from urllib.parse import quote

from attrs import frozen
from falcon.testing import Result, TestClient

from recipient_fields.domain import IntegrationId
from recipient_fields.domain.conditions import Operator
from recipient_fields.domain.esp import BUILT_IN, Esp
from recipient_fields.domain.fields.members import FIELD_MEMBERS
from recipient_fields.entrypoints.http.app import create_app

from ..console.browser import Browser
from ..console.conftest import Console, open_console
from ..http.api import (
    BATCHES,
    CONDITION_COMPILATIONS,
    CONTENT_CONVERSIONS,
    CONTENT_EXPORTS,
    CONTENT_PREVIEWS,
    FIELDS,
    RECIPIENT_CHECKS,
)
from ..http.conftest import Clock
from ..support.command_line import CommandLine

Entry: TypeAlias = tuple[str, Callable[[str], object]]
"""The name of an entry, and what reads the text."""

ESPS = list(BUILT_IN.esps)
"""Each ESP."""
CONVERSIONS = [*zip(ESPS, [*ESPS[1:], ESPS[0]], strict=True)]
"""Pairs of ESPs: each is the source and the target of one."""
_HEADERS = (
    *("Accept", "Authorization", "Content-Type", "Content-Encoding", "Forwarded", "If-Match"),
    *("If-None-Match", "Prefer", "X-Forwarded-For", "X-Request-Id", "Cookie", "traceparent"),
)
_PARAMETERS = ("q", "key", "source", "integration_id", "sort", "cursor", "limit", "insertable")
_INPUTS = ("name", "key", "insertion_code", "value_expression", "values", "pasted")


@frozen(slots=False)
class Surfaces:
    """The HTTP application, the console and the commands over one storage, in this thread.

    The organization Acme has the fields `tier`, a text, and `visits`, a number, and an integration
    with Braze.
    """

    folder: Path
    console: Console
    browser: Browser
    integration: IntegrationId
    key: str

    @classmethod
    def open(cls, folder: Path) -> Surfaces:
        """Return the surfaces over a new storage in the folder."""
        console = open_console(Clock(), f"sqlite:{folder / 'fields.db'}")
        console.add_field(name="Tier")
        console.add_field(name="Visits", data_type="number")
        core, acme = console.core, console.acme.id
        integration = core.integrations.create_integration(acme, esp=Esp("braze"), name="Main")
        key = core.administration.issue_key(acme, name="Test").plain.reveal()
        return cls(folder, console, console.signed_in(), integration.id, key)

    @cached_property
    def _client(self) -> TestClient:
        return TestClient(create_app(self.console.core))

    def send(
        self,
        method: str,
        path: str,
        body: bytes | None = None,
        headers: Mapping[str, str] | None = None,
        **options: Any,
    ) -> Result:
        """Send a request with the key, or with other headers."""
        defaults = {"Authorization": f"Bearer {self.key}", "Content-Type": "application/json"}
        headers = {**defaults, **(headers or {})}
        return self._client.simulate_request(method, path, body=body, headers=headers, **options)

    def post(self, path: str, document: object) -> Result:
        """Send a document."""
        return self.send("POST", path, json.dumps(document, ensure_ascii=False).encode())

    def export(self, esp: str, content: str, **members: object) -> Result:
        """Export content, also with mistakes."""
        document = {"content": content, "esp": esp, "strict": False, **members}
        return self.post(CONTENT_EXPORTS, document)

    def convert(self, source: str, target: str, template: str) -> Result:
        """Convert a template of one ESP for another one."""
        document = {"content": template, "from": {"esp": source}, "to": {"esp": target}}
        return self.post(CONTENT_CONVERSIONS, {**document, "bare": "event"})

    def preview(self, content: str, tier: str = "é <b> 'a' ${a} {{b}}", **event: object) -> Result:
        """Preview content for a recipient and an event."""
        document = {"recipient": {"tier": tier, "visits": 3}, "event": event}
        return self.post(CONTENT_PREVIEWS, {"content": content, **document})

    def send_text(self, path: str, text: str) -> None:
        """Send a body."""
        self.send("POST", path, text.encode())

    def list_fields(self, parameter: str, text: str) -> None:
        """List the fields with a parameter."""
        self.send("GET", FIELDS, params={parameter: text})

    def check_recipient(self, key: str, value: object) -> None:
        """Check a recipient with one value."""
        self.post(RECIPIENT_CHECKS, {"recipients": [{key: value}]})

    def create_field(self, member: str, value: object) -> None:
        """Create the field `new`, and delete it if it was created."""
        document = {"name": "New", "key": "new", "data_type": "text", member: value}
        self.post(FIELDS, {"recipient_field": document})
        self.send("DELETE", f"{FIELDS}/new")

    def run(self, command: str, text: str, name: str = "file") -> None:
        """Run a command for a file with the text."""
        file = self.folder / name
        file.write_text(text, "utf-8")
        run = CommandLine(f"sqlite:{self.folder / 'fields.db'}")
        run(*command.split(), file, "--organization", "Acme")


def content_entries(surfaces: Surfaces) -> Iterator[Entry]:
    """Yield what reads content."""
    for esp in ESPS:
        yield esp, partial(surfaces.export, esp)
    yield "preview", surfaces.preview
    yield "command check", partial(surfaces.run, "content check")
    yield from _form(
        surfaces, f"/console/o/{surfaces.console.acme.id}/content", ["content"], target="klaviyo"
    )
    for esp in ESPS:
        yield f"code for {esp}", partial(read_code, surfaces, esp)
    for source, target in CONVERSIONS:
        yield f"{source} to {target}", partial(surfaces.convert, source, target)


def read_code(surfaces: Surfaces, esp: str, code: str) -> None:
    """Create a field with a code that a person wrote, and export content with it."""
    document = {"name": "Written", "data_type": "text", "custom_insertion_code": code[:10_000]}
    surfaces.post(FIELDS, {"recipient_field": document})
    surfaces.export(esp, "{{recipient.written}} " * 16)
    surfaces.send("GET", f"{FIELDS}/written/codes")
    surfaces.send("DELETE", f"{FIELDS}/written")


def text_entries(surfaces: Surfaces) -> Iterator[Entry]:
    """Yield what reads other texts."""
    yield from _header_entries(surfaces)
    yield from _body_entries(surfaces)
    yield from _condition_entries(surfaces)
    yield from _command_entries(surfaces)
    yield from _form_entries(surfaces)


def _header_entries(surfaces: Surfaces) -> Iterator[Entry]:
    """Yield the headers, the parameters of lists, and URLs."""
    for name in _HEADERS:

        def send(text: str, name: str = name) -> None:
            value = "".join(each if " " <= each <= "ÿ" else "?" for each in text)
            surfaces.send("GET", FIELDS, headers={name: value})
            surfaces.send("PATCH", f"{FIELDS}/tier", b'{"recipient_field": {}}', {name: value})

        yield f"header {name}", send
    for name in _PARAMETERS:
        yield f"parameter {name}", partial(surfaces.list_fields, name)
    yield "query", lambda text: surfaces.send("GET", FIELDS, query_string=f"a&{_in_url(text)}")
    # The test client refuses a query that begins with a question mark.
    yield "path", lambda text: surfaces.send("GET", f"{FIELDS}/{quote(text, safe='/&=%+,;:@')}")


def _body_entries(surfaces: Surfaces) -> Iterator[Entry]:
    """Yield documents, and the members of documents."""
    for path in (FIELDS, BATCHES, RECIPIENT_CHECKS, CONTENT_EXPORTS, CONTENT_PREVIEWS):
        yield f"body of {path}", partial(surfaces.send_text, path)
    for member in [each.name for each in FIELD_MEMBERS]:
        yield member, partial(surfaces.create_field, member)
    yield (
        "allowed values",
        lambda text: surfaces.create_field("allowed_values", _parts(text, 64)),
    )
    yield "member", lambda text: surfaces.create_field(text, 1)
    for key in ("tier", "visits"):
        yield f"value of {key}", partial(surfaces.check_recipient, key)
    yield "key of a value", lambda text: surfaces.check_recipient(text, 1)
    shown = "{{recipient.tier | upper}}<br>{{#if recipient.tier contains 'a'}}b{{/if}}"
    yield "previewed value", partial(surfaces.preview, shown)
    yield (
        "literals",
        lambda text: surfaces.export("braze", f"{{{{ {text} }}}}", literals=_parts(text, 999)),
    )


def _condition_entries(surfaces: Surfaces) -> Iterator[Entry]:
    """Yield the texts of conditions for each ESP, and their forms as JSON."""

    def compile_(esp: str, condition: object, then: str = "a", otherwise: str = "b") -> None:
        document = {"condition": condition, "esp": esp, "then": then, "else": otherwise}
        surfaces.post(CONDITION_COMPILATIONS, {**document, "strict": False})

    for esp in ESPS:
        yield f"condition for {esp}", partial(compile_, esp)
        yield f"then for {esp}", partial(compile_, esp, "visits > 1")
        yield f"else for {esp}", partial(compile_, esp, "visits > 1", "a")
    for operator in (Operator.EQUAL, Operator.CONTAINS):

        def compile_json(text: str, operator: Operator = operator) -> None:
            compile_("braze", {"field": "tier", "op": operator.value, "value": text})

        yield f"JSON with {operator.name}", compile_json


def _command_entries(surfaces: Surfaces) -> Iterator[Entry]:
    """Yield the files that commands read."""
    for name in ("a.csv", "a.jsonl"):
        yield f"command check {name}", partial(surfaces.run, "recipients check", name=name)
        yield f"command infer {name}", partial(surfaces.run, "recipients infer", name=name)
    yield "command plan", partial(surfaces.run, "plan")
    yield "command plan, list", lambda text: surfaces.run("plan", f"fields: [{text}")
    sync = f"integrations sync {surfaces.integration} --dry-run --from"
    yield "command sync", partial(surfaces.run, sync)


def _form_entries(surfaces: Surfaces) -> Iterator[Entry]:
    """Yield the inputs of forms, and the parameters of pages."""
    console = surfaces.console
    yield from _form(
        surfaces, f"/console/o/{console.acme.id}/content", ["literals"], target="klaviyo"
    )
    yield from _form(surfaces, f"{console.fields}/new", _INPUTS, data_type="text")
    yield from _form(surfaces, f"{console.settings}/integrations/new", ["name"], esp="braze")
    dana = surfaces.browser
    check = dana.get(f"{console.fields}/check")

    def upload(text: str) -> None:
        press = ("action", "check")
        dana.upload(check, "", text.encode(), press=press, name="list", file_name="a.csv")

    yield "form check", upload
    stranger = console.browser()
    sign_in = stranger.get("/console/sign-in")
    yield "form email", lambda text: stranger.submit(sign_in, {"email": text, "password": "a"})
    yield "page next", lambda text: stranger.get(f"/console/sign-in?next={_in_url(text)}")
    yield "page search", lambda text: dana.get(f"{console.fields}?q={_in_url(text)}")


def _form(surfaces: Surfaces, path: str, names: Iterable[str], **changes: str) -> Iterator[Entry]:
    """Yield the inputs with these names in the form at the path, with changes of other inputs."""
    page = surfaces.browser.get(path)
    for name in names:

        def submit(text: str, name: str = name) -> None:
            surfaces.browser.submit(page, {**changes, name: text})

        yield f"form {name}", submit


def _parts(text: str, length: int) -> list[str]:
    return [text[start : start + length] for start in range(0, len(text), length)][:1_000]


def _in_url(text: str) -> str:
    return quote(text, safe="/?&=%+,;:@")
