"""The client address that is logged."""

from __future__ import annotations

from ipaddress import ip_address, ip_network

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recipient_fields.entrypoints.http.client_addresses import ClientAddresses, Sender
from recipient_fields.testing.examples import in_pairs

from ..support.growth import assert_grows_linearly

PROXY, INNER, CLIENT = "10.0.0.2", "10.0.0.1", "203.0.113.9"
BEHIND_PROXIES = ClientAddresses((ip_network("10.0.0.0/8"), ip_network("fd00::/8")))
LARGEST = 64 * 1024


def through(x_forwarded_for: str | None = None, forwarded: str | None = None) -> str | None:
    """Return the address that is found for a request from a trusted proxy."""
    return BEHIND_PROXIES.find(Sender(PROXY, x_forwarded_for, forwarded))


@pytest.mark.parametrize(
    ("peer", "ignores"), [(PROXY, False), (CLIENT, True), ("/run/service.sock", True), (None, True)]
)
def test_headers_of_proxies_that_are_not_trusted_are_ignored(peer, ignores):
    for x_forwarded_for, forwarded in ((CLIENT, None), (None, f"for={CLIENT}"), ("", None)):
        sender = Sender(peer, x_forwarded_for, forwarded)
        assert BEHIND_PROXIES.ignores_headers_of(sender) is ignores
    assert not BEHIND_PROXIES.ignores_headers_of(Sender(peer, None, None))


@pytest.mark.parametrize(
    ("peer", "address"),
    [
        (CLIENT, CLIENT),
        (PROXY, PROXY),
        ("2001:DB8::0:1", "2001:db8::1"),
        ("::ffff:203.0.113.9", CLIENT),
        ("[2001:db8::1]:4711", "2001:db8::1"),
        ("203.0.113.9:4711", CLIENT),
        ("", None),
        (None, None),
        ("/run/service.sock", None),
    ],
)
def test_without_headers_the_address_is_that_of_the_peer(peer, address):
    assert BEHIND_PROXIES.find(Sender(peer, None, None)) == address


@pytest.mark.parametrize("peer", [CLIENT, "11.0.0.1", "2001:db8::1", "::ffff:203.0.113.9", None])
def test_headers_from_an_untrusted_peer_are_ignored(peer):
    found = BEHIND_PROXIES.find(Sender(peer, "192.0.2.1", "for=192.0.2.1"))

    assert found == (None if peer is None else str(peer.removeprefix("::ffff:")))


def test_without_trusted_proxies_headers_are_ignored():
    assert ClientAddresses().find(Sender("127.0.0.1", CLIENT, f"for={CLIENT}")) == "127.0.0.1"


@pytest.mark.parametrize(
    ("header", "address"),
    [
        (CLIENT, CLIENT),
        (f" {CLIENT}\t", CLIENT),
        (f"{CLIENT}, {INNER}", CLIENT),
        (f"{CLIENT},{INNER},10.9.9.9", CLIENT),
        (f"192.0.2.66, {CLIENT}, {INNER}", CLIENT),
        (f"{INNER}, 10.9.9.9", INNER),
        (f"{CLIENT}:4711", CLIENT),
        ("2001:db8::1", "2001:db8::1"),
        ("[2001:db8::1]", "2001:db8::1"),
        ("[2001:db8::1]:4711", "2001:db8::1"),
        ("[2001:db8::1]:4711, fd00::7", "2001:db8::1"),
        ("::ffff:203.0.113.9", CLIENT),
    ],
)
def test_the_client_is_the_last_address_in_x_forwarded_for_that_is_not_trusted(header, address):
    assert through(header) == address


@pytest.mark.parametrize(
    ("header", "address"),
    [
        (f"for={CLIENT}", CLIENT),
        (f"FOR={CLIENT}", CLIENT),
        (f"for={CLIENT};proto=https;by={PROXY}", CLIENT),
        (f'by="{PROXY}";for={CLIENT}', CLIENT),
        (f"for={CLIENT}, for={INNER}", CLIENT),
        (f"for=192.0.2.66,for={CLIENT}, for={INNER};proto=http", CLIENT),
        (f'for="{CLIENT}:4711"', CLIENT),
        (f'for="{CLIENT}:_port"', CLIENT),
        ('for="[2001:db8::1]"', "2001:db8::1"),
        ('for="[2001:db8::1]:4711";proto=http', "2001:db8::1"),
        (f'for={CLIENT};host="a,b;for=192.0.2.66"', CLIENT),
        (f'for={CLIENT};host="a,for=192.0.2.66"', CLIENT),
    ],
)
def test_the_client_is_the_last_address_in_forwarded_that_is_not_trusted(header, address):
    assert through(None, header) == address


NO_ADDRESSES = (
    *("", "unknown", "_hidden", "_SEVKISEK", "localhost", "proxy.example", "null", "-", "*"),
    *("203.0.113", "203.0.113.9.1", "203.0.113.256", "0203.0.113.9", "203.0.113.9/32"),
    *("203.0.113.9:", "203.0.113.9:123456", "203.0.113.9 192.0.2.1", "\u0662.0.113.9"),
    *("[2001:db8::1", "2001:db8::1]", "[2001:db8::1]x", "[203.0.113.9", ":::", "[]", "[]:80"),
    *("fe80::1%eth0", "fe80::1%rfk_0123456789", "1", "3405803785", "0xcb007109"),
)


@pytest.mark.parametrize("node", NO_ADDRESSES)
def test_an_entry_that_is_no_address_counts_as_the_proxy_that_sent_it(node):
    assert through(node) == PROXY
    assert through(f"192.0.2.66, {node}") == PROXY
    assert through(f"192.0.2.66, {node}, {INNER}") == INNER
    assert through(None, f'for="{node}"') == PROXY
    assert through(None, f'for=192.0.2.66, for="{node}", for={INNER}') == INNER


@pytest.mark.parametrize(
    "element",
    [
        *("", ";", "for", "for=", "=", "proto=https", f"by={CLIENT}", f"x-for={CLIENT}", CLIENT),
        *(f"for= {CLIENT}", f"for ={CLIENT}", f"for={CLIENT};", f";for={CLIENT}"),
        *(f"for={CLIENT};for={CLIENT}", f"for={CLIENT};FOR=192.0.2.1", f"for={CLIENT} proto=http"),
        *(f'for="{CLIENT}', f'for={CLIENT}"', 'for="\\203.0.113.9"', f"for='{CLIENT}'"),
        f'for={CLIENT};host="\\""',
    ],
)
def test_a_malformed_element_counts_as_the_proxy_that_sent_it(element):
    assert through(None, element) == PROXY
    assert through(None, f"for=192.0.2.66, {element}, for={INNER}") == INNER


@in_pairs(
    spoofed=[
        *("192.0.2.66", "10.0.0.9", "unknown", "", ",,,", '"', "\\", "for=192.0.2.66"),
        *('for="192.0.2.66', 'for=192.0.2.66;x="', '"for=192.0.2.66', 'for="a\\"'),
        *('for=192.0.2.66;host="a, ', "x" * LARGEST, "," * LARGEST, '"' * LARGEST, ";" * LARGEST),
        ", ".join(["10.0.0.9"] * 5_000),
        ", ".join(["for=10.0.0.9"] * 5_000),
    ],
    client=[CLIENT, "2001:db8::1"],
)
def test_entries_that_the_client_sends_are_ignored(spoofed, client):
    node = f'"[{client}]:4711"' if ":" in client else client

    assert through(f"{spoofed}, {client}") == client
    assert through(f"{spoofed},{client}, {INNER}") == client
    assert through(None, f"{spoofed}, for={node}") == client
    assert through(None, f"{spoofed},for={node};proto=https, for={INNER}") == client


def test_x_forwarded_for_takes_precedence_over_forwarded():
    """Most proxies pass a `Forwarded` header of the client on."""
    assert through(CLIENT, "for=192.0.2.66") == CLIENT
    assert through("unknown", "for=192.0.2.66") == PROXY


def test_hundreds_of_trusted_hops_are_followed():
    hops = [f"10.0.{n // 250}.{n % 250}" for n in range(700)]

    assert through(", ".join([CLIENT, *hops])) == CLIENT
    assert through(None, ", ".join(f"for={hop}" for hop in [CLIENT, *hops])) == CLIENT


@pytest.mark.parametrize(
    "unit",
    ["10.0.0.1,", "for=10.0.0.1,", 'for="10.0.0.1",', '"', 'a="', "a=b;", 'a="b";', "[", "1:"],
)
def test_a_header_is_read_in_linear_time(unit):
    """A regular expression with backtracking would take far longer."""

    def build(size: int) -> str:
        return (unit * size)[:size].rstrip(",")

    assert_grows_linearly(through, build, LARGEST)
    assert_grows_linearly(lambda header: through(None, header), build, LARGEST)


ADDRESSES = st.ip_addresses().map(str)


@given(
    client=ADDRESSES.filter(lambda text: not _trusted(text)),
    hops=st.lists(st.ip_addresses(network="10.0.0.0/8").map(str), max_size=5),
    spoofed=st.text(),
)
def test_the_address_is_found_after_any_text(client, hops, spoofed):
    expected = str(getattr(ip_address(client), "ipv4_mapped", None) or client)
    nodes = [f'"[{client}]"' if ":" in client else client, *hops]

    assert through(", ".join([spoofed, client, *hops])) == expected
    assert through(None, ", ".join([spoofed, *(f"for={node}" for node in nodes)])) == expected


@given(st.text(), st.text() | st.none(), st.text() | st.none())
def test_any_header_results_in_an_address_or_none(peer, one, other):
    for sender in (Sender(peer, one, other), Sender(PROXY, one, other), Sender(PROXY, None, other)):
        found = BEHIND_PROXIES.find(sender)
        assert found is None or str(ip_address(found)) == found


def _trusted(text: str) -> bool:
    address = ip_address(text)
    address = getattr(address, "ipv4_mapped", None) or address
    return any(address in network for network in BEHIND_PROXIES.trusted_proxies)
