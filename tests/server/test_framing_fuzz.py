"""Random streams of requests, read by the host and by h11."""

from __future__ import annotations

import os
import random
from itertools import islice

import pytest

from .streams import as_read, disagreement, streams

pytestmark = pytest.mark.slow

SEED = int(os.environ.get("RECIPIENT_FIELDS_FRAMING_SEED", "1"))
STREAMS = int(os.environ.get("RECIPIENT_FIELDS_FRAMING_STREAMS", "4000"))


def test_the_host_and_h11_agree_on_where_every_request_ends_that_both_accept() -> None:
    chance = random.Random(SEED)
    for stream in islice(streams(chance), STREAMS):
        assert disagreement(stream, chance) is None, stream


def test_the_streams_have_much_to_accept_and_to_refuse() -> None:
    readings = [as_read(stream) for stream in islice(streams(random.Random(SEED)), 1_000)]

    assert sum(len(reading.accepted) for reading in readings) > 500
    refusals = {reading.refused for reading in readings}
    assert refusals >= {None, "malformed_request", "not_implemented", "payload_too_large"}
