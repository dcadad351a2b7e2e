"""Processes that share an address, one after the other."""

from __future__ import annotations

import os
import time
from concurrent.futures import ThreadPoolExecutor
from urllib.parse import urlsplit

import pytest

from ..support.command_line import CommandLine
from ..support.service import FIELDS
from ..support.waiting import TIMEOUT
from .conftest import Start
from .load import send_at_rate

pytestmark = pytest.mark.slow

RESTARTS = int(os.environ.get("RECIPIENT_FIELDS_TEST_RESTARTS", "1"))
RATE = int(os.environ.get("RECIPIENT_FIELDS_TEST_RESTARTS_RATE", "100"))


@pytest.mark.parametrize("keep_alive", [True, False], ids=["keep-alive", "new connections"])
def test_a_rolling_restart_under_load_fails_no_request(
    start: Start, key: str, keep_alive: bool
) -> None:
    old = start("--reuse-port", "--log-level", "error")
    url, address = old.url, urlsplit(old.url).netloc
    request = f"GET {FIELDS} HTTP/1.1\r\nHost: h\r\nAuthorization: Bearer {key}\r\n\r\n".encode()
    seconds = 2 + 3.5 * RESTARTS

    with ThreadPoolExecutor(1) as pool:
        load = pool.submit(send_at_rate, RATE, seconds, url, request, keep_alive=keep_alive)
        for _ in range(RESTARTS):
            time.sleep(1.5)
            new = start("--reuse-port", "--log-level", "error", RECIPIENT_FIELDS_LISTEN=address)
            assert new.url == url
            assert old.stop() == 0
            old = new
        figures = load.result(TIMEOUT * RESTARTS)

    assert set(figures.statuses) == {"200"}, figures
    assert figures.slowest("200") < 2.5


def test_a_shared_address_can_not_be_used_without_reuse_port(start: Start) -> None:
    address = urlsplit(start("--reuse-port").url).netloc

    message = CommandLine("memory:")("serve", "--listen", address).failure()

    assert message.startswith(f"Can't listen on {address}: Address already in use. ")
