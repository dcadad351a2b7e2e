"""Templates of text and tags, for the engines that the tests contain: how blocks are nested."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import TypeAlias

from attrs import frozen

from .errors import NotRendered
from .truth import UNESTABLISHED, Truth

Renderer: TypeAlias = Callable[[Mapping[str, object]], str]


@frozen
class Text:
    """A part of a template that becomes text."""

    value: Callable[[], str]


@frozen
class Branch:
    """A tag that begins a branch or ends the block: `if`, `elseif`, `else` or `end`."""

    keyword: str
    condition: Callable[[], Truth] = lambda: True


Part: TypeAlias = Text | Branch


def copied(text: str) -> Text:
    return Text(lambda: text)


def compile_tags(
    template: str,
    tag: re.Pattern[str],
    stray: str,
    read: Callable[[str, Mapping[str, str]], Part],
) -> Renderer:
    """Return a function that renders the template for a recipient.

    `tag` has one group: the content of the tag, which `read` turns into a part. Text must not match
    `stray`. All values are texts, and a missing one is empty.
    """
    pieces = tag.split(template)
    if any(re.search(stray, text) for text in pieces[::2]):
        raise NotRendered("Unbalanced delimiters.")

    def render(recipient: Mapping[str, object]) -> str:
        values = {name: _as_text(value) for name, value in recipient.items()}
        return render_parts(
            [
                read(piece, values) if index % 2 else copied(piece)
                for index, piece in enumerate(pieces)
            ]
        )

    return render


def require_plain_strings(tag: str) -> None:
    """Reject a string with a backslash or a brace, which engines read differently."""
    strings = re.findall(r"\"[^\"]*\"|'[^']*'", tag)
    if "\\" in tag or any(brace in string for string in strings for brace in "{}"):
        raise NotRendered(f"Engines read this string differently: {tag}")


def render_parts(parts: Sequence[Part]) -> str:
    """Return the text of the branches whose conditions are true, at every depth."""
    texts, rest = _render(parts, shown=True)
    if rest:
        raise NotRendered("A branch without an if.")
    return texts


def _as_text(value: object) -> str:
    if isinstance(value, bool):
        raise NotRendered("This ESP has no booleans.")
    return "" if value is None else str(value)


def _render(parts: Sequence[Part], *, shown: bool) -> tuple[str, Sequence[Part]]:
    """Render up to the end of this branch. Return the text and the rest."""
    texts = ""
    while parts:
        match parts[0]:
            case Text(value):
                texts += value() if shown else ""
                parts = parts[1:]
            case Branch("if"):
                text, parts = _render_block(parts, shown=shown)
                texts += text
            case _:
                break
    return texts, parts


def _render_block(parts: Sequence[Part], *, shown: bool) -> tuple[str, Sequence[Part]]:
    """Render a block that begins with an `if`. Return the text and the rest.

    A branch whose condition is unknown can be taken or not, so each text must be the same.
    """
    outcomes: set[str] = set()
    decided, after_else = not shown, False
    while parts and isinstance(branch := parts[0], Branch):
        if branch.keyword == "end":
            if not decided:
                outcomes.add("")
            if len(outcomes) > 1:
                raise NotRendered(UNESTABLISHED)
            return "".join(outcomes), parts[1:]
        if after_else:
            raise NotRendered("A branch after the else.")
        after_else = branch.keyword == "else"
        truth = not decided and branch.condition()
        text, parts = _render(parts[1:], shown=truth is not False)
        if truth is not False:
            outcomes.add(text)
        decided = decided or truth is True
    raise NotRendered("An if without an end.")
