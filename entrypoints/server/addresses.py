"""Addresses to listen on."""

from __future__ import annotations

import os
import socket


def listen(host: str, port: int, *, shared: bool) -> socket.socket:
    """Return a socket that listens on the address; port 0 selects a free one.

    Processes of one user can share the address if each of them sets `shared`: the system
    distributes new connections among them. Raises: OSError if the address can't be bound.
    """
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    # As bytes, because an invalid host name as text would be a UnicodeError.
    return socket.create_server((os.fsencode(host), port), family=family, reuse_port=shared)


def authority(host: str, port: int) -> str:
    """Return host and port as in a URL."""
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
