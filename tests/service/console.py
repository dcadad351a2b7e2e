"""The console of a running service: browsers, and the search of logs for their secrets."""

from __future__ import annotations

import re
from http import HTTPStatus
from urllib.parse import quote
from wsgiref.types import StartResponse, WSGIApplication, WSGIEnvironment

from attrs import Factory, define

from recipient_fields.application import Core, IssuedInvitation
from recipient_fields.domain import OrganizationId, Role

from ..console.browser import Browser, Response
from ..support.service import Client

PASSWORD = "correct horse battery"
SIGN_IN = "/console/sign-in"
_SECRET_INPUTS = ("csrf", "form", "password", "version")


@define
class RecordingBrowser(Browser):
    """A browser that records the secrets that it has received and sent."""

    secrets: set[str] = Factory(set)

    def _send(self, *arguments: object, **named: object) -> Response:
        response = super()._send(*arguments, **named)  # type: ignore[arg-type]
        self.secrets.update(self.cookies.values())
        for form in response.forms:
            self.secrets.update(v for name, v in form.inputs if name in _SECRET_INPUTS if v)
        return response


def browse(url: str, address: str | None = None) -> RecordingBrowser:
    """Return a browser that opens a new connection to the service for each request.

    `address` is the address of its client, which a trusted proxy sends.
    """
    headers = {} if address is None else {"X-Forwarded-For": address}
    return RecordingBrowser(_forward_to(url), headers=headers, secrets={PASSWORD})


def invite(core: Core, organization_id: OrganizationId, email: str, role: Role = Role.ADMIN) -> str:
    """Invite an administrator, and return the path of the link."""
    invitation = core.administrators.invite(organization_id, email, role)
    assert isinstance(invitation, IssuedInvitation)
    return f"/console/invitations/{invitation.token.reveal()}"


def set_password(browser: RecordingBrowser, link: str) -> Response:
    """Set a password with the link, and return the first page of the session."""
    browser.secrets.add(link.rpartition("/")[2])
    return browser.follow(browser.submit(browser.get(link), {"password": PASSWORD}))


def sign_in(browser: Browser, email: str, password: str = PASSWORD) -> Response:
    """Open the sign-in page, submit the form, and return the response."""
    return browser.submit(browser.get(SIGN_IN), {"email": email, "password": password})


def create_field(browser: Browser, fields: str, name: str) -> Response:
    """Create a manual field, and return its page. `fields` is the path of the list."""
    return browser.follow(browser.submit(browser.get(f"{fields}/new"), {"name": name}))


def logged_secrets(stderr: str, *browsers: RecordingBrowser) -> list[str]:
    """Return the log lines that contain a secret of these browsers."""
    secrets = {secret for browser in browsers for secret in browser.secrets}
    assert len(secrets) > len(browsers)
    found = re.compile("|".join(map(re.escape, sorted(secrets))))
    lines = stderr.splitlines()
    return [line for line in lines if line.startswith("{") and found.search(line)]


def _forward_to(url: str) -> WSGIApplication:
    """Return an application that sends each request to the service."""
    client = Client(url)

    def application(environ: WSGIEnvironment, start_response: StartResponse) -> list[bytes]:
        length = int(environ.get("CONTENT_LENGTH") or 0)
        body = environ["wsgi.input"].read(length) if length else None
        headers = {
            name.removeprefix("HTTP_").replace("_", "-"): value
            for name, value in environ.items()
            if name.startswith("HTTP_")
        }
        if environ.get("CONTENT_TYPE"):
            headers["Content-Type"] = environ["CONTENT_TYPE"]
        query = environ.get("QUERY_STRING")
        target = quote(environ["PATH_INFO"].encode("latin-1")) + (f"?{query}" if query else "")
        response = client.send(environ["REQUEST_METHOD"], target, body, headers)
        status = f"{response.status} {HTTPStatus(response.status).phrase}"
        hop_by_hop = {"connection", "keep-alive", "transfer-encoding"}
        start_response(
            status, [pair for pair in response.headers.items() if pair[0].lower() not in hop_by_hop]
        )
        return [response.body]

    return application
