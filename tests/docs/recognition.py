"""Measure the recognition of tags, and write the table in `docs/internals/recognition.md`.

    python tests/docs/recognition.py constructs.json

The file has `constructs`, each with `construct`, `dialect`, `kind`, `role`, `names` and
`system_names`.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from attrs import frozen

from recipient_fields.domain.esp import BUILT_IN, Esp
from recipient_fields.domain.esp.recognition.tags import find_text_tags
from recipient_fields.domain.esp.recognition.words import Shown, TagRole

PAGE = Path(__file__).parents[2] / "docs" / "internals" / "recognition.md"
VALUES = {TagRole.FIELD, TagRole.SYSTEM, TagRole.EVENT, TagRole.NESTED}
HEAD = (
    "| Dialect | Fields: recall, precision | Names | System tags: recall, precision"
    " | Silent foreign tags | Of these, not code of both | Silent system tags | False mistakes |\n"
    "|---|---|---|---|---|---|---|---|\n"
)


@frozen
class RecognizedTag:
    """A tag in a text.

    `dialects` are the ESPs that can read it, the most likely first. `role`, `names` and
    `system_names` are what the first of them reads. `start` and `end` are offsets.
    """

    start: int
    end: int
    text: str
    dialects: tuple[Esp, ...]
    role: TagRole
    names: tuple[str, ...] = ()
    system_names: tuple[str, ...] = ()


def recognize(text: str, esp: Esp | None = None) -> Iterator[RecognizedTag]:
    """Yield the tags of all dialects in the text, in order.

    If `esp` is given, each tag is read as the ESP reads it, if it can.
    """
    for tag in find_text_tags(text, BUILT_IN, esp):
        if tag.readings:
            own = None if esp is None else tag.readings.get(esp)
            dialects = tag.dialects
            if own is None or not own.is_read:
                own = next((tag.readings[each] for each in dialects), None)
            shown = Shown(TagRole.NONE) if own is None else own.shown
            yield RecognizedTag(
                tag.start,
                tag.end,
                tag.text,
                dialects,
                shown.role,
                shown.names,
                shown.system_names,
            )


def main(file: str) -> None:
    """Measure the constructs of the file, and write the table."""
    constructs = json.loads(Path(file).read_text("utf-8"))["constructs"]
    rows = [
        _row(esp, [each for each in constructs if each["dialect"] == esp]) for esp in BUILT_IN.esps
    ]
    table = f"<!-- measured -->\n{HEAD}{''.join(rows)}<!-- end -->"
    text = PAGE.read_text("utf-8")
    PAGE.write_text(
        re.sub(r"<!-- measured -->.*?<!-- end -->", lambda _: table, text, flags=re.DOTALL), "utf-8"
    )


def _row(esp: Esp, constructs: Sequence[Mapping[str, Any]]) -> str:
    found = [(each, list(recognize(each["construct"], esp))) for each in constructs]
    roles = [(each["role"], _role(tags)) for each, tags in found]
    fields = [(each, tags) for each, tags in found if each["role"] == "field"]
    names = [
        set(each["names"]) <= {name for tag in tags for name in tag.names} for each, tags in fields
    ]
    others = [(each, other) for each in constructs for other in BUILT_IN.esps if other != esp]
    silent = [each for each, other in others if not _judge(other, each["construct"])]
    of_one = [
        each
        for each, other in others
        if not _judge(other, each["construct"]) and not _is_shared(each["construct"], esp, other)
    ]
    native = [each for each in constructs if each["kind"] != "foreign syntax"]
    false = [
        each
        for each in native
        if any(finding.is_mistake for finding in _judge(esp, each["construct"]))
    ]
    cells = (
        BUILT_IN[esp].title,
        _quality(roles, "field"),
        f"{sum(names)} of {len(names)}",
        _quality(roles, "system"),
        f"{len(silent)} of {len(others):,}",
        str(len(of_one)),
        str(sum(each["role"] == "system" for each in silent)),
        f"{len(false)} of {len(native)}",
    )
    return f"| {' | '.join(cells)} |\n"


def _role(tags: Iterable[RecognizedTag]) -> str:
    return next((tag.role.value for tag in tags if tag.role in VALUES), "none")


def _quality(roles: Sequence[tuple[str, str]], role: str) -> str:
    """Return recall and precision as counts."""
    right = roles.count((role, role))
    expected = sum(each == role for each, _ in roles)
    read = sum(each == role for _, each in roles)
    return f"{right} of {expected}, {right} of {read}"


def _is_shared(code: str, esp: Esp, other: Esp) -> bool:
    """Return whether both ESPs have each tag, so that it is no code of the first one only."""
    return all(
        (reading := tag.read_as(BUILT_IN[each])) is not None and reading.finding is None
        for tag in find_text_tags(code, BUILT_IN, other)
        for each in (esp, other)
    )


def _judge(esp: Esp, code: str) -> list[Any]:
    judged = (tag.judge(esp) for tag in find_text_tags(code, BUILT_IN, esp))
    return [finding for finding in judged if finding is not None]


if __name__ == "__main__":
    main(*sys.argv[1:])
