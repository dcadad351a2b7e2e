"""The ceiling: one answer, read as JSON from standard input, for whatever is asked.

Waitress is as it comes but for what costs nothing: polling, and no `Server` header.
"""

from __future__ import annotations

import json
import sys

import falcon
from attrs import frozen
from waitress.server import TcpWSGIServer, create_server


@frozen
class Constant:
    """The same bytes to everybody."""

    status: int
    headers: dict[str, str]
    body: bytes

    def on_get(self, _req: falcon.Request, resp: falcon.Response, **_reference: str) -> None:
        resp.status = self.status
        resp.set_headers(self.headers)
        resp.data = self.body

    on_post = on_patch = on_get


answer = json.load(sys.stdin)
constant = Constant(answer["status"], answer["headers"], answer["body"].encode())
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
