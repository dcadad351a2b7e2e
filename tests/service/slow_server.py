"""A server with slow requests: `python slow_server.py MILLISECONDS THREADS`."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterable
from wsgiref.types import StartResponse, WSGIEnvironment

from recipient_fields.entrypoints.http.resource import MAX_BODY_SIZE
from recipient_fields.entrypoints.server.server import Server
from recipient_fields.entrypoints.service.host_rejections import HostRejections


def main(milliseconds: str, threads: str) -> None:
    def app(_environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        time.sleep(int(milliseconds) / 1000)
        start_response("200 OK", [("Content-Type", "text/plain"), ("Content-Length", "2")])
        return [b"ok"]

    server = Server(
        app,
        "127.0.0.1",
        0,
        reject=HostRejections(),
        max_body_size=MAX_BODY_SIZE,
        threads=int(threads),
    )
    sys.stderr.write(f"listening on {server.url}\n")
    server.run()


if __name__ == "__main__":
    main(*sys.argv[1:])
