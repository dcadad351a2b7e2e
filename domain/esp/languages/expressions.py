"""What the readers of expressions share: tokens from left to right, and the errors in them."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import NamedTuple, TypeVar

from attrs import define, field

from .tree import Expression, Literal, Operation, Path

T = TypeVar("T")

MAX_DEPTH = 30
"""Parts of an expression in one another, such as parentheses. Readers are recursive."""
MAX_OPERATORS = 100
"""Operators in an expression, whose tree can be as deep."""

_SHOWN = 40
"""The characters in which the first one that is not white space is searched."""

_NAMES = {"&&": "and", "||": "or", "<>": "!="}
"""The names of operators in the tree that differ from those in the code."""


class NotRead(Exception):
    """An expression, or a tag, is not in the language. The message is a sentence."""


class Token(NamedTuple):
    """A part of an expression. `kind` is the name of its group in the pattern of the language."""

    kind: str
    text: str


END = Token("end", "")


def tokenize(code: str, pattern: re.Pattern[str]) -> Iterator[Token]:
    """Yield the tokens that the pattern matches one after the other, without white space.

    Raises: NotRead at the first character at which it does not match.
    """
    offset = len(code) - len(code.lstrip())
    while offset < len(code):
        match = pattern.match(code, offset)
        if match is None:
            raise NotRead(unexpected(code, offset))
        kind = match.lastgroup or ""
        yield Token(kind, match[kind])
        offset = match.end()


def unexpected(text: str, offset: int) -> str:
    """Return why a tag can't be read from this offset on."""
    rest = text[offset : offset + _SHOWN].lstrip()
    if not rest:
        return "This tag has no end."
    if rest[0] in "\"'":
        return f"The text that begins with {rest[0]} does not end."
    return f"`{rest[0]}` is not expected in a tag."


def read_number(text: str) -> Literal:
    """Return the number, which is an integer without a decimal point and an exponent."""
    return Literal(float(text) if {".", "e", "E"} & {*text} else int(text))


@define
class Tokens:
    """The tokens of an expression that are not read yet. Each is found when it is needed."""

    _rest: Iterator[Token]
    _found: list[Token] = field(factory=list, init=False)
    position: int = 0
    """The number of tokens that are read."""
    _depth: int = 0
    _operators: int = 0

    def peek(self, ahead: int = 0) -> Token:
        """Return the next token, or one after it, or `END`."""
        index = self.position + ahead
        while index >= len(self._found):
            token = next(self._rest, None)
            if token is None:
                return END
            self._found.append(token)
        return self._found[index]

    def take(self, kind: str, *texts: str) -> Token:
        """Read the next token, which must be of this kind, and one of the texts, if there are any.

        Raises: NotRead if it is another one.
        """
        found = self.accept(kind, *texts)
        if found is None:
            wanted = " or ".join(f"`{each}`" for each in texts) or f"a {kind}"
            raise NotRead(f"{self._describe()} where {wanted} is expected.")
        return found

    def accept(self, kind: str, *texts: str) -> Token | None:
        """Read the next token if it is of this kind, and one of the texts, if there are any."""
        known = self.position < len(self._found)
        token = self._found[self.position] if known else self.peek()
        if token.kind != kind or (texts and token.text not in texts):
            return None
        self.position += 1
        return token

    def accept_end(self) -> bool:
        """Return whether there are no more tokens."""
        return self.peek() is END

    def skip(self) -> None:
        """Leave out the next token."""
        self.position += 1

    def require_end(self) -> None:
        """Require that there are no more tokens. Raises: NotRead if there are."""
        if self.peek() is not END:
            raise NotRead(f"{self._describe()} after the expression.")

    def whole(self, read: Callable[[], T]) -> T:
        """Return what `read` returns, after which there must be no more tokens."""
        found = read()
        self.require_end()
        return found

    def refuse(self) -> NotRead:
        """Return the error about the next token."""
        return NotRead(f"{self._describe()} where a value is expected.")

    @contextmanager
    def nested(self) -> Iterator[None]:
        """Read a part in another one, such as one in parentheses.

        Raises: NotRead if it is nested too deeply.
        """
        self._depth += 1
        if self._depth > MAX_DEPTH:
            raise NotRead("The expression is nested too deeply.")
        yield
        self._depth -= 1

    def accept_operator(self, *operators: str) -> str | None:
        """Read the next token if it is one of these words or marks."""
        token = self.peek()
        if token.text not in operators or token.kind == "text":
            return None
        self.position += 1
        return token.text

    def operation(
        self, operator: str, left: Expression, read: Callable[[], Expression]
    ) -> Operation:
        """Return the operation with the second operand that `read` returns.

        Raises: NotRead if there are too many operators.
        """
        self._operators += 1
        if self._operators > MAX_OPERATORS:
            raise NotRead(f"The expression has more than {MAX_OPERATORS} operators.")
        return Operation(_NAMES.get(operator, operator), (left, read()))

    def chain(self, read: Callable[[], Expression], *operators: str) -> Expression:
        """Return the operands between these operators, from left to right."""
        found = read()
        while operator := self.accept_operator(*operators):
            found = self.operation(operator, found, read)
        return found

    def levels(self, read: Callable[[], Expression], *levels: tuple[str, ...]) -> Expression:
        """Do the same with operators of several levels, of which the first bind most strongly."""
        if not levels:
            return read()
        *stronger, weakest = levels
        return self.chain(lambda: self.levels(read, *stronger), *weakest)

    def values(self, read: Callable[[], Expression]) -> tuple[Expression, ...]:
        """Return the values in a tag whose syntax is not known, as far as they can be read."""
        found: list[Expression] = []
        while not self.accept_end():
            if self.peek(1) == Token("mark", "="):  # the name of an argument
                self.position += 2
            try:
                found.append(read())
            except NotRead:
                if self.peek().text == "as":  # The tag gives its value to the name that follows.
                    found.append(Path(("as",)))
                self.position += 1
        return tuple(found)

    def _describe(self) -> str:
        token = self.peek()
        return "The code ends" if token is END else f"There is `{token.text}`"
