"""The CPU time for a text grows at most with its length, for each entry and each hostile shape.

It may be 9 times that for a fourth of the text, where 4 times would be exact.
"""

from __future__ import annotations

import gc
import tracemalloc
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import islice, product
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, TypeAlias

import pytest

from ..support.growth import find_growth
from .entries import ESPS, Entry, Surfaces, content_entries, read_code, text_entries
from .shapes import BRANCH, CONTENT_SHAPES, LONGEST_TAG, TEXT_SHAPES, Shape

pytestmark = pytest.mark.slow

Kind: TypeAlias = tuple[Callable[[Surfaces], Iterator[Entry]], Sequence[Shape]]
CONTENT: Kind = content_entries, CONTENT_SHAPES
TEXTS: Kind = text_entries, TEXT_SHAPES
Build: TypeAlias = Callable[[int], Any]

SIZE = 16_384
_ENOUGH = 0.004
"""Seconds. A quadratic call that takes less for this size takes less than 15 s for 1,000,000."""
_MOST = 1.0
"""Seconds for each request. Up to the documented limits, 2 s are permitted."""


@pytest.fixture(scope="module")
def surfaces() -> Iterator[Surfaces]:
    with TemporaryDirectory() as folder:
        surfaces = Surfaces.open(Path(folder))
        yield surfaces
        surfaces.console.core.storage.close()


@pytest.mark.parametrize(
    ("kind", "step"),
    [
        pytest.param(CONTENT, 79, id="content"),
        pytest.param(TEXTS, 11, id="texts"),
    ],
)
def test_the_time_for_a_text_grows_at_most_with_its_length(
    surfaces: Surfaces, kind: Kind, step: int
):
    """One of so many pairs is measured. A prime number reaches each shape and each entry."""
    list_entries, shapes = kind
    pairs = product(shapes, list_entries(surfaces))
    found = []
    for shape, (name, read) in islice(pairs, 0, None, step):
        size = shape.largest or SIZE
        growth = find_growth(read, shape.text, size, enough=_ENOUGH, most=_MOST)
        if growth is not None:
            found.append(f"{name}: {shape}: {growth}")
    assert found == []


def costs(surfaces: Surfaces) -> Iterator[tuple[str, Callable[[Any], object], Build, int]]:
    """Yield what once took quadratic time, or seconds, with the size of its text."""
    value = "éa/" * 33_000
    for piece, size in (
        ("{{recipient.tier|title|truncate:1}}", 100_000),
        ("{{recipient.tier|title|url|truncate:№}}", 40_000),
        (
            "{{#if " + 'recipient.tier contains "éa/éb" or ' * 99 + "recipient.visits=1}}{{/if}}",
            800_000,
        ),
    ):
        preview = partial(surfaces.preview, tier=value)
        yield f"preview of {piece[:60]}", preview, Shape("", piece).text, size
    tag, text, long_text = LONGEST_TAG, 64_000, 262_144
    for esp in ESPS:
        export, read = partial(surfaces.export, esp), partial(read_code, surfaces, esp)
        for shape, size in (
            (Shape("{{ x", " (upper a)", " }}"), tag),
            (Shape("{{ x", " (upper№ a)", " }}"), tag),
            (Shape("{% if ", "a№ as b№ ", "%}"), tag),
            (Shape("{{ ", "x.y ", "}}"), long_text),
            (Shape("", Shape("{{ ", "x№.y ", "}}").text(tag)), text),
            (Shape("%%[ ", "v(jobid ", "]%%"), text),
            (Shape('{{#if recipient.tier="a"}}', BRANCH, "{{/if}}"), long_text),
            (Shape("{{recipient.tier", "|url", "}}"), long_text),
        ):
            yield f"{esp}: {shape}", export, shape.text, size
        for shape in (Shape("%%a", " "), Shape("%%a", " ", "%%"), Shape("v(", "a")):
            yield f"code for {esp}: {shape}", read, shape.text, tag
    dana = surfaces.browser
    page = dana.get(f"/console/o/{surfaces.console.acme.id}/content")

    def submit(literals: str) -> None:
        content = "x" * len(literals)
        dana.submit(page, {"target": "klaviyo", "content": content, "literals": literals})

    yield "form literals", submit, Shape("", "a№\n").text, 160_000


def test_no_cost_comes_back(surfaces: Surfaces):
    found = []
    for name, read, build, size in costs(surfaces):
        growth = find_growth(read, build, size, enough=_ENOUGH, most=_MOST)
        if growth is not None:
            found.append(f"{name}: {growth}")
    assert found == []


def test_no_content_stays_in_memory(surfaces: Surfaces):
    first, *texts = (Shape("{{ ", f"a{number}№.b ", "}}").text(1_200) for number in range(17))
    for esp in ESPS:
        surfaces.export(esp, first)
        tracemalloc.start()
        try:
            for text in texts:
                surfaces.export(esp, text)
            gc.collect()
            kept, _ = tracemalloc.get_traced_memory()
        finally:
            tracemalloc.stop()
        # The log of the requests, which pytest keeps, takes about 50 kB. The trees of the texts
        # take over 1 MB.
        assert kept < 100_000, esp
