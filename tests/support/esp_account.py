"""A stand-in of Braze with several accounts: each key has its own attributes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from attrs import define, field

from .http_server import Handler, ReceivedRequest, Reply, StubResponse, stub_server

KEY = "braze-key-of-acme-A1B2"
OTHER_KEY = "braze-key-of-other-C3D4"


@define
class Braze:
    """The attributes of each account by its key, the URL, and the received requests."""

    url: str
    names: dict[str, list[str]]
    requests: list[ReceivedRequest] = field(factory=list)
    reply: Reply | Handler | None = None
    """What responds in place of the accounts."""

    @property
    def host(self) -> str:
        return self.url.removeprefix("http://")

    def respond(self, request: ReceivedRequest) -> Reply:
        self.requests.append(request)
        if self.reply is not None:
            return self.reply(request) if callable(self.reply) else self.reply
        key = request.headers.get("authorization", "").removeprefix("Bearer ")
        if key not in self.names:
            return StubResponse(401, f'{{"error": "{key} is not valid"}}'.encode())
        items = [{"name": name, "data_type": "String"} for name in self.names[key]]
        return StubResponse.json({"attributes": items, "message": "success"})


@contextmanager
def braze_accounts(names: Mapping[str, list[str]]) -> Iterator[Braze]:
    """Serve these accounts on the loopback address."""
    accounts = Braze("", dict(names))
    with stub_server(accounts.respond) as server:
        accounts.url = server.url
        yield accounts
