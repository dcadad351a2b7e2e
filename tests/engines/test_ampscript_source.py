"""Statements of AMPscript that stay by hand, beside converted ones, show what the source shows."""

from __future__ import annotations

import re
from collections.abc import Iterator
from random import Random

from hypothesis import settings

from recipient_fields.domain.esp import Esp
from recipient_fields.domain.integrations import Outcome, convert

from .ampscript import compile_template

TEMPLATES = 20 * settings().max_examples
_MARK = re.compile(r"\[(?:BY HAND: line \d+|END BY HAND)\]")
_VALUES = ('AttributeValue("city")', "'x'", "Concat(VARIABLE, 'y')", "Substring(VARIABLE, 1, 2)")
_SHOWN = ("%%=v(VARIABLE)=%%", "%%=Substring(VARIABLE, 1, 1)=%%", "a")
_TESTS = ("AttributeValue('tier') == 'gold'", "Length(VARIABLE) > 1", "EMPTY(VARIABLE)")
_RECIPIENTS = ({"city": "Bern", "tier": "gold"}, {"city": "Ulm", "tier": "x"})


def test_statements_by_hand_beside_converted_ones_show_what_the_source_shows():
    random = Random(0)
    mixed = 0
    for _ in range(TEMPLATES):
        pieces = "".join(_pieces(random, 2))
        source = f"%%[ SET @a = 'A' SET @b = 'B' ]%%{pieces}"

        converted = convert(source, read=Esp("sfmc"), write=Esp("sfmc"))

        mixed += {Outcome.BY_HAND, Outcome.CONVERTED} <= {each.outcome for each in converted.tags}
        before, after = map(compile_template, (source, _MARK.sub("", converted.content)))
        for each in _RECIPIENTS:
            assert after(each) == before(each), f"{source}\n{converted.content}"
    assert mixed > TEMPLATES / 3


def _pieces(random: Random, depth: int) -> Iterator[str]:
    """Yield texts, outputs and tags with statements, in which blocks begin and end anywhere."""
    for _ in range(random.randint(1, 4)):
        if random.random() < 0.4:
            yield _filled(random, _SHOWN)
        elif random.random() < 0.7 or not depth:
            yield f"%%[ {' '.join(_assignment(random) for _ in range(random.randint(1, 3)))} ]%%"
        else:
            yield f"%%[ {_assignment(random)} IF {_filled(random, _TESTS)} THEN "
            yield f"{_assignment(random)} ]%%"
            yield from _pieces(random, depth - 1)
            if random.random() < 0.5:
                yield f"%%[ {_assignment(random)} ELSE {_assignment(random)} ]%%"
                yield from _pieces(random, depth - 1)
            yield f"%%[ {_assignment(random)} ENDIF {_assignment(random)} ]%%"


def _assignment(random: Random) -> str:
    return f"SET {random.choice(('@a', '@b'))} = {_filled(random, _VALUES)}"


def _filled(random: Random, forms: tuple[str, ...]) -> str:
    return random.choice(forms).replace("VARIABLE", random.choice(("@a", "@b")))
