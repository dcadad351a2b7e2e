"""The check that rejects words about the transport in the domain."""

from __future__ import annotations

import pytest

from .domain_words import main, rejected_lines


@pytest.mark.parametrize(
    ("source", "words"),
    [
        ("def read(body): ...", ["body"]),
        ("_ENVELOPE = 1\nMaxBodySize = 2", ["ENVELOPE", "Body"]),
        ('"""The HTTP status."""', ["HTTP", "status"]),
        ("# the wire_names", ["wire"]),
        ("anybody, somebody = embodied, rewired", []),
        ('re.compile("<(?:html|body)>")', []),
    ],
)
def test_words_about_the_transport_are_found(source, words):
    assert [word for _, word in rejected_lines(source)] == words


def test_the_domain_has_none() -> None:
    main()
