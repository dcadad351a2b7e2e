"""The ceiling: a server that sends one constant response, read as JSON from standard input.

Waitress has its default settings, except for polling and the `Server` header.
"""

from __future__ import annotations

import json
import sys

import falcon
from attrs import frozen
from waitress.server import TcpWSGIServer, create_server


@frozen
class Constant:
    """Sends the same bytes to every client."""

    status: int
    headers: dict[str, str]
    body: bytes

    def on_get(self, _req: falcon.Request, resp: falcon.Response, **_reference: str) -> None:
        resp.status = self.status
        resp.set_headers(self.headers)
        resp.data = self.body

    on_post = on_patch = on_get


response = json.load(sys.stdin)
constant = Constant(response["status"], response["headers"], response["body"].encode())
app: falcon.App[falcon.Request, falcon.Response] = falcon.App()
app.add_route("/api/v1/recipient_fields", constant)
app.add_route("/api/v1/recipient_fields/{id_or_key}", constant)
server = create_server(
    app, host="127.0.0.1", port=0, threads=int(sys.argv[1]), asyncore_use_poll=True, ident=None
)
assert isinstance(server, TcpWSGIServer)
port = server.getsockname()[1]
sys.stderr.write(f"The ceiling is listening on http://127.0.0.1:{port}\n")
server.run()
