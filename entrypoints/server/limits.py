"""The limits of the server: times in seconds, sizes in bytes. See docs/internals/server.md."""

from __future__ import annotations

MAX_CONNECTIONS = 500
EVICTION_AGE = 1.0
"""If there are as many connections, the server closes one that is idle for longer."""

REQUEST_TIMEOUT = 10.0
"""From the first byte of a request to its last."""
QUEUE_TIMEOUT = 2.0
"""A request that has waited for a thread for longer is rejected as `overloaded`."""
RESPONSE_TIMEOUT = 10.0
"""For a client to receive a response, in addition to the time at the slowest accepted rate."""
MIN_RATE = 32 * 1024
"""Bytes per second at which a client must receive a large response."""
MAX_TURN = 512 * 1024
"""Bytes of a response that are sent before other connections have their turn. A client that reads
as fast as the server sends would otherwise delay them."""
IDLE_TIMEOUT = 30.0
LINGER_TIMEOUT = 2.0
"""For a client to close its side after the last response."""
MAX_LINGER_SIZE = 24 * 1024 * 1024
"""Bytes that a client may still send during this time: more than two lists of the console."""

DRAIN_IDLE_TIMEOUT = 0.5
"""Replaces the idle, request and linger timeouts while the server drains."""
DRAIN_TIMEOUT = 17.0
"""After it, the server closes the connections that are left. Supervisors often wait for 30 s."""

MAX_HEAD_SIZE = 16 * 1024
"""The request line and the headers, with the empty line that ends them."""
MAX_REQUEST_LINE_LENGTH = 8 * 1024
MAX_CHUNK_LINE_LENGTH = 256
MAX_TRAILERS_SIZE = 4 * 1024
MAX_BUFFER_SIZE = 128 * 1024
"""A larger request body, or a larger unsent part of a response, is in a temporary file."""
