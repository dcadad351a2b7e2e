"""Addresses to listen at, and how processes share one."""

from __future__ import annotations

import ctypes
import os
import socket
import struct
import sys

_ATTACH_FILTER = 26
"""SO_ATTACH_FILTER of Linux, which Python does not name."""
_HANDSHAKE_FILTER = (
    (0x30, 0, 0, 13),  # The flags of the TCP header:
    (0x54, 0, 0, 0x12),  # of SYN and ACK,
    (0x15, 0, 1, 0x02),  # where SYN alone is set,
    (0x06, 0, 0, 0),  # the packet is dropped,
    (0x06, 0, 0, 0xFFFFFFFF),  # and else kept.
)


def listen(host: str, port: int, *, shared: bool) -> socket.socket:
    """A socket that listens there; OSError where it can't.

    Processes of one user share an address where each of them says so; the system spreads new
    connections over them.
    """
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    # As bytes: what no name can be is not found, where text would fail to be encoded.
    return socket.create_server((os.fsencode(host), port), family=family, reuse_port=shared)


def refuse_handshakes(listening: socket.socket) -> bool:
    """Let no further client begin to connect; those that have begun still can. Could it be done?

    Linux alone can, and some sandboxes don't let it. The packet that asks for a connection is
    dropped in silence, so the client sends it again.
    """
    if sys.platform != "linux":
        return False
    code = b"".join(struct.pack("HBBI", *step) for step in _HANDSHAKE_FILTER)
    steps = ctypes.create_string_buffer(code)
    program = struct.pack("HP", len(_HANDSHAKE_FILTER), ctypes.addressof(steps))
    try:
        listening.setsockopt(socket.SOL_SOCKET, _ATTACH_FILTER, program)
    except OSError:
        return False
    return True


def authority(host: str, port: int) -> str:
    """Host and port as a URL writes them."""
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
