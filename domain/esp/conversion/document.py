"""The content that a template becomes, with marks instead of what stays as it is."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Sequence
from itertools import count

from attrs import frozen

from .reader import Piece

_BEGIN, _END = "\ue000", "\ue001"
"""Characters for private use. A text can have them, and then it has not each number behind them."""
_NUMBERED = re.compile(f"{_BEGIN}([0-9]+){_END}")


@frozen
class Document:
    """The content of the pieces. What is kept is a mark in it: text that no language reads."""

    pieces: Sequence[Piece]
    text: str
    _starts: Sequence[int]
    _mark: re.Pattern[str]

    @classmethod
    def of(cls, pieces: Sequence[Piece]) -> Document:
        """Return the document of the pieces."""
        used = set(_NUMBERED.findall("".join(each.text for each in pieces)))
        unused = next(each for each in map(str, count()) if each not in used)
        begin = f"{_BEGIN}{unused}{_END}"
        texts: list[str] = []
        starts: list[int] = []
        offset = 0
        for index, piece in enumerate(pieces):
            text = f"{begin}{index}{_END}" if piece.is_kept else piece.text
            starts.append(offset)
            texts.append(text)
            offset += len(text)
        return cls(pieces, "".join(texts), starts, re.compile(f"{begin}([0-9]+){_END}"))

    def restore(self, text: str) -> str:
        """Return the text with what is kept instead of the marks."""
        return self._mark.sub(lambda mark: self.pieces[int(mark[1])].marked_text, text)

    def find_owner(self, offset: int) -> int | None:
        """Return the offset in the source of the tag at this offset, or of the next tag."""
        index = bisect_right(self._starts, offset) - 1
        for piece in self.pieces[max(index, 0) :][:2]:
            if piece.owner is not None and not piece.is_kept:
                return piece.owner
        return None

    def is_code(self, offset: int) -> bool:
        """Return whether the text at this offset is code of a tag of the source."""
        return self._piece(offset).owner is not None

    def _piece(self, offset: int) -> Piece:
        return self.pieces[max(bisect_right(self._starts, offset) - 1, 0)]

    def find_start(self, offset: int) -> int:
        """Return the offset in the source of the part at this offset."""
        index = max(bisect_right(self._starts, offset) - 1, 0)
        piece = self.pieces[index]
        return (
            piece.start if piece.owner is not None else piece.start + offset - self._starts[index]
        )
