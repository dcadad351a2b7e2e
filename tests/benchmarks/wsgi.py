"""The WSGI application in this process, with a storage in memory."""

from __future__ import annotations

import logging
from collections.abc import Callable
from time import thread_time

from falcon.testing import create_environ

from recipient_fields.application import Core
from recipient_fields.domain import OrganizationId
from recipient_fields.entrypoints.http.app import create_app
from recipient_fields.entrypoints.service.selection import open_core


class Application:
    """The application, and an organization that sends requests."""

    core: Core
    organization_id: OrganizationId

    def __init__(self) -> None:
        logging.getLogger("recipient_fields").setLevel(logging.ERROR)
        self.core = open_core("memory:")
        self.organization_id = self.core.administration.create_organization("Bench").id
        issued = self.core.administration.issue_key(self.organization_id, name="Bench")
        self._app = create_app(self.core)
        self._headers = {
            "Authorization": f"Bearer {issued.plain.reveal()}",
            "Content-Type": "application/json",
        }

    def post(self, path: str, body: bytes) -> tuple[int, float]:
        """Send a request. Return the status, and the CPU time until the response in seconds."""
        environ = create_environ(path, method="POST", headers=self._headers, body=body)
        statuses: list[str] = []
        written: list[bytes] = []

        def start_response(status: str, *_: object) -> Callable[[bytes], object]:
            statuses.append(status)
            return written.append

        started = thread_time()
        b"".join(self._app(environ, start_response))
        return int(statuses[0][:3]), thread_time() - started
