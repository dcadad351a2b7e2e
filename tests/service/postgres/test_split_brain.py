"""An old primary that accepts writes after its asynchronous standby was promoted.

Figures are logged: `pytest --log-cli-level=INFO`.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from threading import Event
from time import monotonic, sleep

import pytest
from attrs import Factory, define, frozen

from recipient_fields.adapters.postgres import migrate
from recipient_fields.entrypoints.service.selection import open_core

from ...support.postgres import PASSWORD, PostgresServer, execute
from ...support.service import FIELDS, Client, Response, require_statuses
from .conftest import serving

pytestmark = pytest.mark.slow

THREADS = 4
DETECTED = 2.0
"""Seconds after the promotion until the service no longer uses the old primary."""

_log = logging.getLogger(__name__)


@frozen
class Creation:
    """An acknowledged creation: when its request began and ended."""

    key: str
    began: float
    ended: float


@define
class Creator:
    """Creates one field after the other, under keys that begin with a prefix."""

    client: Client
    prefix: str
    responses: list[Response] = Factory(list)
    acknowledged: list[Creation] = Factory(list)

    def create_until(self, ending: Event) -> None:
        number = 0
        while not ending.is_set():
            number += 1
            key = f"{self.prefix}_{number}"
            began = monotonic()
            response = self.client.create(name=key, key=key)
            self.responses.append(response)
            if response.status == 201:
                self.acknowledged.append(Creation(key, began, monotonic()))
            sleep(0.005)


@frozen
class Cluster:
    """A primary, and its asynchronous standby."""

    old: PostgresServer
    new: PostgresServer

    @property
    def url(self) -> str:
        hosts = ",".join(f"127.0.0.1:{server.port}" for server in (self.old, self.new))
        return f"postgresql://postgres:{PASSWORD}@{hosts}/postgres?target_session_attrs=read-write"


@pytest.fixture
def cluster() -> Iterator[Cluster]:
    with PostgresServer.create() as old:
        migrate(old.url())
        with old.standby() as new:
            yield Cluster(old, new)


def test_two_primaries_lose_only_the_writes_until_the_newer_one_is_detected(
    cluster: Cluster,
) -> None:
    core = open_core(cluster.url)
    acme = core.administration.create_organization("Acme")
    issued = [core.administration.issue_key(acme.id, name=f"Key {n}") for n in range(THREADS + 1)]
    core.storage.close()
    *keys, revoked = [key.plain.reveal() for key in issued]
    with serving(cluster.url) as url:
        creators = [Creator(Client(url, key), f"field_{n}") for n, key in enumerate(keys)]
        ending = Event()
        with ThreadPoolExecutor(THREADS) as pool:
            runs = [pool.submit(creator.create_until, ending) for creator in creators]
            try:
                sleep(1)
                promoting = monotonic()
                cluster.new.promote()
                promoted = monotonic()
                execute(
                    cluster.new.url(),
                    f"UPDATE api_keys SET revoked_at = now() WHERE id = {issued[-1].api_key.id}",
                )
                sleep(promoted + DETECTED - monotonic())
                rejected = Client(url, revoked)("GET", FIELDS)
                sleep(1)
            finally:
                ending.set()
        for run in runs:
            run.result()

    keys_of_new = stored_keys(cluster.new)
    acknowledged = [each for creator in creators for each in creator.acknowledged]
    lost = [each for each in acknowledged if each.key not in keys_of_new]
    _log.info(
        "of %d acknowledged creations, %d were lost, during %.2f s after the promotion began;"
        " it took %.2f s",
        *(len(acknowledged), len(lost)),
        *(max((each.ended - promoting for each in lost), default=0.0), promoted - promoting),
    )
    require_statuses((each for creator in creators for each in creator.responses), 201, 503)
    require_statuses([rejected], 401)
    assert [each for each in lost if each.began > promoted + DETECTED] == []
    assert any(each.began > promoted + DETECTED for each in acknowledged)


def stored_keys(server: PostgresServer) -> set[str]:
    return {str(key) for (key,) in execute(server.url(), "SELECT key FROM recipient_fields")}
