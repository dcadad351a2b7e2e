"""Addresses to listen on."""

from __future__ import annotations

import socket

import pytest

from recipient_fields.entrypoints.server.addresses import authority, listen


def test_two_sockets_share_an_address_only_if_both_permit_it() -> None:
    with listen("127.0.0.1", 0, shared=True) as first:
        with listen(*first.getsockname(), shared=True) as second:
            assert second.getsockname() == first.getsockname()
        with pytest.raises(OSError, match="in use"):
            listen(*first.getsockname(), shared=False)


def test_a_socket_listens_on_an_ipv6_address() -> None:
    with listen("::1", 0, shared=False) as listening:
        assert listening.family == socket.AF_INET6


@pytest.mark.parametrize(
    ("host", "written"), [("127.0.0.1", "127.0.0.1:80"), ("::1", "[::1]:80"), ("h", "h:80")]
)
def test_an_authority_is_written_as_in_a_url(host, written):
    assert authority(host, 80) == written
