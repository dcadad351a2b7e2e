"""Random streams of requests, parsed by the server and by h11."""

from __future__ import annotations

import os
import random
from itertools import islice

import pytest

from .request_streams import disagreement, parse, streams

pytestmark = pytest.mark.slow

SEED = int(os.environ.get("RECIPIENT_FIELDS_FRAMING_SEED", "1"))
STREAMS = int(os.environ.get("RECIPIENT_FIELDS_FRAMING_STREAMS", "4000"))


def test_the_server_and_h11_agree_on_the_end_of_each_request_that_both_accept() -> None:
    rng = random.Random(SEED)
    for stream in islice(streams(rng), STREAMS):
        assert disagreement(stream, rng) is None, stream


def test_the_streams_contain_valid_and_invalid_requests() -> None:
    readings = [parse(stream) for stream in islice(streams(random.Random(SEED)), 1_000)]

    assert sum(len(reading.accepted) for reading in readings) > 500
    rejections = {reading.rejection for reading in readings}
    assert rejections >= {None, "malformed_request", "not_implemented", "payload_too_large"}
