"""The address of the client behind proxies: `X-Forwarded-For` and `Forwarded` (RFC 7239).

Each proxy appends the address of its peer at the right. A client can send any text at the left.
The search therefore starts at the connection's peer, reads the header from the right, and ends at
the first address that is not a trusted proxy's.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address
from typing import TypeAlias

from attrs import frozen

Network: TypeAlias = IPv4Network | IPv6Network

_PORT = r"(?::(?:[0-9]{1,5}|_[A-Za-z0-9._-]+))?"
_NODE = re.compile(rf"([0-9.]+){_PORT}|\[([0-9A-Fa-f:.]+)\]{_PORT}|([0-9A-Fa-f:.]+)")
"""An address as in RFC 7239, section 6, or a bare IPv6 address. Names, `unknown`, obfuscated
identifiers and the scope of an IPv6 address do not match: they could be any text."""

_BACKWARDS_ELEMENT = re.compile(r'((?>(?:[^",]|"[^"]*")*))(?:,|\Z)')
"""One element of a reversed list. Reading from the right ensures that an open quote, which a
client has sent at the left, can't change the meaning of what proxies have appended."""

_PAIR = r"([!#$%&'*+.^_`|~0-9A-Za-z-]+)" + r'=([^\s",;\\]+|"[^"\\]*")'
_ELEMENT = re.compile(rf"{_PAIR}(?:;{_PAIR})*")


@frozen
class Sender:
    """The peer of a connection, and the headers that list the addresses before it."""

    peer: str | None
    x_forwarded_for: str | None
    forwarded: str | None


@frozen
class ClientAddresses:
    """The rule that finds the address of the client that sent a request."""

    trusted_proxies: tuple[Network, ...] = ()

    def ignores_headers_of(self, sender: Sender) -> bool:
        """Return whether there is a header of a proxy, but the peer is no trusted proxy."""
        has_header = sender.x_forwarded_for is not None or sender.forwarded is not None
        return has_header and not self._trusts(_address(sender.peer or ""))

    def find(self, sender: Sender) -> str | None:
        """Return the client's IP address, or None if the peer has none (a Unix socket).

        If a trusted proxy lists something other than an address, return the proxy's address.
        """
        client = _address(sender.peer or "")
        for node in _nodes(sender):
            if not self._trusts(client):
                break
            before = _address(node)
            if before is None:
                break
            client = before
        return None if client is None else str(client)

    def _trusts(self, address: IPv4Address | IPv6Address | None) -> bool:
        return address is not None and any(address in each for each in self.trusted_proxies)


def _nodes(sender: Sender) -> Iterable[str]:
    """Return the listed addresses from right to left.

    If both headers are present, use `X-Forwarded-For`: nearly every proxy appends to it, and
    many pass on a `Forwarded` header that the client has sent.
    """
    if sender.x_forwarded_for is not None:
        return (node.strip(" \t") for node in reversed(sender.x_forwarded_for.split(",")))
    return map(_for, _elements(sender.forwarded or ""))


def _elements(forwarded: str) -> Iterator[str]:
    """Yield the elements from right to left, up to an open quote."""
    backwards, position = forwarded[::-1], 0
    while position < len(backwards):
        match = _BACKWARDS_ELEMENT.match(backwards, position)
        if match is None:
            return
        yield match[1][::-1].strip(" \t")
        position = match.end()


def _for(element: str) -> str:
    """Return the value of the element's only `for`, or "" if there is none."""
    if _ELEMENT.fullmatch(element) is None:
        return ""
    values = [value for name, value in re.findall(_PAIR, element) if name.lower() == "for"]
    return values[0].strip('"') if len(values) == 1 else ""


def _address(node: str) -> IPv4Address | IPv6Address | None:
    """Return the IP address without its port, or None if there is none.

    An IPv4-mapped IPv6 address becomes the IPv4 address.
    """
    match = _NODE.fullmatch(node)
    if match is None:
        return None
    try:
        address = ip_address(match[1] or match[2] or match[3])
    except ValueError:
        return None
    return getattr(address, "ipv4_mapped", None) or address
