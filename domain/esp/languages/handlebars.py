"""Handlebars, as handlebars.js reads it: https://handlebarsjs.com/guide/.

The names of a path are the parts of a `Path`. Its first part can also be `this`, `..` (the data
outside of a block), `@` before the name of a variable, or `[[]]` for a feed of Iterable.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property

from attrs import define, field, frozen

from .blocks import (
    Builder,
    Certainty,
    Closing,
    Divider,
    Opening,
    Part,
    Tag,
    as_condition,
    loop_builder,
)
from .expressions import NotRead, Token, Tokens
from .tree import (
    Branch,
    Call,
    Comment,
    Expression,
    Filter,
    Filtered,
    Literal,
    Node,
    Opaque,
    Operation,
    Output,
    Path,
    Raw,
    Text,
    Unread,
)

_OTHER = re.compile(
    r"""(?P<feed>\[\[(?!\d)(?>(?:
        [\#/^]?(?:[\w@$.\x20]|\{\{[^{}\n]{0,100}+\}\}|\[[^\[\]\n]{0,100}+\]){1,300})
        |\{[^\[\]{}\n]{1,300}+\})\]\])
    | (?P<substitution><%=?\s{0,9}+(?P<asm>asm_\w{1,60}+)\s{0,9}+%>
        |\[%(?P<value>[A-Za-z_]\w{0,99}+)(?:\s{0,9}+\|[^%\]\n]{0,100}+)?%\]
        |\[(?P<link>(?i:unsubscribe(?:_preferences)?|weblink|sender_[a-z]{3,7}))\](?![(:\[]))
    """,
    re.VERBOSE | re.ASCII,
)
"""A tag in other delimiters than braces."""
_TAG = re.compile(
    r"\{\{(?:(?P<raw_block>\{\{)|~?(?P<form>!--|!|#>|#\*|>|#|/|\^\s*~?(?=\}\})|\^|\{|&|\*)?)"
)
_ELSE = re.compile(r"\s*else(?![\w$-])")
_END_OF_COMMENT = re.compile(r"--~?\}\}")
_END = re.compile(r"\s*(?P<end>\}\}\}\}|\}~?\}\}|~?\}\})")
_ID = r"""[^\s!"#%-,./;->@\[-^`{-~]+(?=[=~}\s/.)\]|])"""
_FALLBACK = re.compile(r"\{\{\s*(?P<name>[\w.]+)\s*\|\s*(?P<text>[^{}|\"']*?)\s*\}\}")
_TOKEN = re.compile(
    rf"""\s*(?:
      (?P<text>"(?>(?:\\"|[^"])*)"|'(?>(?:\\'|[^'])*)')
    | (?P<literal>(?:true|false|undefined|null|-?[0-9]+(?:\.[0-9]+)?)(?=[~}}\s)]))
    | (?P<self>\.\.|\.(?=[=~}}\s/.)\]|]))
    | (?P<mark>as\s+\||[().|/=@])
    | (?P<feed>\[\[[^\[\]{{}}\n]*+\]\])
    | (?P<name>{_ID}|\[(?>(?:\\\]|[^\]])*)\])
    )""",
    re.VERBOSE,
)
_LITERALS: Mapping[str, bool | None] = {
    "true": True,
    "false": False,
    "undefined": None,
    "null": None,
}


@frozen(kw_only=True, slots=False)
class HandlebarsWords:
    """What an ESP adds to Handlebars: `tests` are helpers of blocks, such as `ifEq`.

    `has_feeds` is whether `[[name]]` is a value, as in Iterable, and `has_substitutions` whether
    SendGrid's older tags are read: `{{name | text}}`, `[%name | text%]`, `[Unsubscribe]` and
    `<%asm_…%>`.
    """

    tests: frozenset[str] = frozenset()
    has_feeds: bool = False
    has_substitutions: bool = False

    @cached_property
    def opening(self) -> re.Pattern[str]:
        """The pattern of the beginning of a tag."""
        return re.compile(r"\{\{" + r"|\[\[" * self.has_feeds + r"|<%|\[" * self.has_substitutions)


def read_handlebars(
    text: str,
    words: HandlebarsWords = HandlebarsWords(),
) -> Iterator[Part]:
    """Yield the parts of the text, in order."""
    return _Reader(text, words).parts()


@frozen
class _Tag:
    """A tag, its form (`#`, `/`, `else`, …), and what reads the rest of it."""

    start: int
    end: int
    form: str
    expressions: _Expressions


@define
class _Reader:
    _text: str
    _words: HandlebarsWords
    _unclosed: set[str] = field(factory=set)
    """Ends that the rest of the text does not have."""

    def parts(self) -> Iterator[Part]:
        """Yield the parts of the text, in order."""
        text, offset, shown = self._text, 0, 0
        while (opening := self._words.opening.search(text, offset)) is not None:
            start = opening.start()
            part = self._find(opening)
            if part is None:
                offset = opening.end()
                continue
            if start > shown:
                yield Text(shown, start)
            yield part
            offset = shown = part.end
        if shown < len(text):
            yield Text(shown, len(text))

    def _find(self, opening: re.Match[str]) -> Part | None:
        """Return what begins here, or None: one backslash before a tag makes it text."""
        start = opening.start()
        if opening[0] == "{{":
            backslashes = self._text[max(0, start - 2) : start]
            is_text = backslashes.endswith("\\") and backslashes != "\\\\"
            return None if is_text else self._part(start)
        tag = _OTHER.match(self._text, start)
        return None if tag is None or (opening[0] == "[[") is not bool(tag["feed"]) else _other(tag)

    def _part(self, start: int) -> Part:
        tag = _TAG.match(self._text, start)
        if tag is None:  # The pattern matches the two braces, whatever follows.
            return Unread(start, start + 2, "This tag has no end.")
        if tag["raw_block"]:
            return self._raw_block(start)
        form = (tag["form"] or "").rstrip("~ \t\r\n")
        if form in {"!--", "!"}:
            return self._comment(start, tag.end(), is_long=form == "!--")
        offset = tag.end()
        divider = _ELSE.match(self._text, offset) if form == "" else None
        if divider is not None:
            form, offset = "else", divider.end()
        return self._tag(start, form, offset)

    def _comment(self, start: int, offset: int, *, is_long: bool) -> Node:
        last = "--}}" if is_long else "}}"
        if last not in self._unclosed:
            if is_long:
                found = _END_OF_COMMENT.search(self._text, offset)
                end = -1 if found is None else found.end()
            else:
                end = self._text.find("}}", offset)
                end = end if end < 0 else end + 2
            if end >= 0:
                return Comment(start, end)
            self._unclosed.add(last)
        return Unread(start, offset, f"This comment has no `{last}`.")

    def _raw_block(self, start: int) -> Node:
        read = self._read(start, start + 4)
        if isinstance(read, Unread):
            return read
        expressions, end, closing = read
        name = expressions.name()
        last = f"{{{{{{{{/{name}}}}}}}}}"
        text_end = self._text.find(last, end) if last not in self._unclosed else -1
        if closing != "}}}}" or text_end < 0:
            self._unclosed.add(last)
            return Unread(start, end, f"This block has no `{last}`.")
        return Raw(start, text_end + len(last), end, text_end)

    def _read(self, start: int, offset: int) -> tuple[_Expressions, int, str] | Unread:
        """Return what reads the tag, and the end of the tag with its delimiter."""
        tokens: list[Token] = []
        while (end := _END.match(self._text, offset)) is None:
            match = _TOKEN.match(self._text, offset)
            if match is None:
                return Unread(
                    start, max(offset, start + 2), _unread(self._text[offset : offset + 40])
                )
            offset, kind = match.end(), match.lastgroup or ""
            tokens.append(Token(kind, match[kind]))
        tokens_of_tag = _Expressions(Tokens(tokens), has_feeds=self._words.has_feeds)
        return tokens_of_tag, end.end(), end["end"].replace("~", "")

    def _tag(self, start: int, form: str, offset: int) -> Part:
        fallback = _FALLBACK.match(self._text, start) if self._words.has_substitutions else None
        if fallback is not None:
            value = Path(tuple(fallback["name"].split(".")))
            default = Filter("default", (Literal(fallback["text"]),))
            return Output(start, fallback.end(), Filtered(value, (default,)))
        read = self._read(start, offset)
        if isinstance(read, Unread):
            return read
        expressions, end, closing = read
        wanted = "}}}" if form == "{" else "}}"
        if closing != wanted:
            return Unread(start, end, f"This tag ends with `{closing}`, not `{wanted}`.")
        try:
            return self._part_of(_Tag(start, end, form, expressions))
        except NotRead as error:
            return Unread(start, end, str(error))

    def _part_of(self, tag: _Tag) -> Part:
        start, end, read = tag.start, tag.end, tag.expressions
        match tag.form:
            case "" | "&" | "{":
                return Output(start, end, read.only(), is_raw=tag.form != "")
            case "/":
                return Closing(start, end, f"/{read.only_name()}")
            case "else" if read.tokens.accept_end():
                return Divider(start, end, "else")
            case "else":
                return Divider(start, end, "else …", self._chained(read))
            case "^" if read.tokens.accept_end():
                return Divider(start, end, "else")
            case "#" | "^":
                return self._block(tag)
            case ">":
                return Opaque(start, end, ">", *read.arguments_of_tag())
        raise NotRead(f"`{{{{{tag.form}` is not supported.")

    def _block(self, tag: _Tag) -> Opening:
        expression, variables = tag.expressions.block()
        name = _original(expression)
        match expression:
            case _ if tag.form == "^":
                build = as_condition(Operation("not", (expression,)))
            case Call("each", (items,)):
                build = loop_builder(variables, items)
            case Call("if" | "unless", (_,)):
                build = as_condition(self._test(expression))
            case Call(helper) if helper in self._words.tests:
                build = as_condition(expression)
            case _:
                build = _opaque_builder(expression)
        dividers = frozenset({"else", "else …"})
        return Opening(tag.start, tag.end, f"/{name}", build, dividers, final="else")

    def _chained(self, read: _Expressions) -> Expression:
        """Return the test of `{{else if …}}`, or of a similar helper."""
        expression, _ = read.block()
        return self._test(expression)

    @staticmethod
    def _test(expression: Expression) -> Expression:
        match expression:
            case Call("if", (test,)):
                return test
            case Call("unless", (test,)):
                return Operation("not", (test,))
        return expression


def _other(tag: re.Match[str]) -> Tag:
    """Return a tag that has no braces."""
    start, end = tag.span()
    if tag["feed"]:
        value = Path(("[[]]", *tag[0].strip("[]{} ").split(".")))
        return Tag(start, end, (Output(start, end, value),))
    certainty = Certainty.CODE if tag["asm"] else Certainty.POSSIBLE
    value = Path((tag["asm"] or tag["value"] or tag["link"],))
    return Tag(start, end, (Output(start, end, value),), certainty)


def _opaque_builder(expression: Expression) -> Builder:
    def build(start: int, end: int, branches: Sequence[Branch]) -> Opaque:
        nodes = tuple(node for branch in branches for node in branch.nodes)
        match expression:
            case Call(name, arguments, named):
                return Opaque(start, end, name, arguments, named, nodes)
        return Opaque(start, end, "", (expression,), (), nodes)

    return build


def _original(expression: Expression) -> str:
    """Return the name that the end of the block repeats."""
    match expression:
        case Call(name):
            return name
        case Path(parts):
            return "/".join(map(str, parts))
    return ""


def _unread(rest: str) -> str:
    found = rest.lstrip()
    if not found:
        return "This tag has no end."
    if found[0] in "\"'":
        return f"The text that begins with {found[0]} does not end."
    return f"`{found[0]}` is not expected in a tag."


@frozen
class _Expressions:
    """Reads the expressions in a tag."""

    tokens: Tokens
    _has_feeds: bool = field(kw_only=True)

    def only(self) -> Expression:
        """Return the value, or the call of a helper, which is all of the tag."""
        found = self._call()
        self.tokens.require_end()
        return found

    def name(self) -> str:
        """Return the name at the beginning of the tag, or an empty text."""
        token = self.tokens.peek()
        return token.text if token.kind == "name" else ""

    def only_name(self) -> str:
        """Return the path in the end of a block, as it is written."""
        found = _original(self._value())
        self.tokens.require_end()
        return found

    def block(self) -> tuple[Expression, tuple[str, ...]]:
        """Return the expression of a block, and its variables: `as |item index|`."""
        expression = self._call()
        variables: list[str] = []
        if self.tokens.peek().text.startswith("as") and self.tokens.peek().kind == "mark":
            self.tokens.skip()
            variables.append(self.tokens.take("name").text)
            while name := self.tokens.accept("name"):
                variables.append(name.text)
            self.tokens.take("mark", "|")
        self.tokens.require_end()
        return expression, tuple(variables)

    def arguments_of_tag(self) -> tuple[tuple[Expression, ...], tuple[tuple[str, Expression], ...]]:
        """Return the values in a tag without a helper, such as `{{> name value}}`."""
        arguments, named = self._arguments()
        self.tokens.require_end()
        return arguments, named

    def _call(self) -> Expression:
        """Return the value, or the call if there are arguments."""
        value = self._value()
        arguments, named = self._arguments()
        if not arguments and not named:
            return value
        if isinstance(value, Literal):
            return Call(str(value.value), arguments, named)
        return Call(_original(value), arguments, named)

    def _arguments(self) -> tuple[tuple[Expression, ...], tuple[tuple[str, Expression], ...]]:
        arguments: list[Expression] = []
        named: list[tuple[str, Expression]] = []
        while True:
            if self.tokens.peek(1) == Token("mark", "="):
                name = self.tokens.take("name").text
                self.tokens.skip()
                named.append((name, self._argument()))
            elif named or not self._begins_value():
                return tuple(arguments), tuple(named)
            else:
                arguments.append(self._argument())

    def _begins_value(self) -> bool:
        token = self.tokens.peek()
        return token.kind in {"feed", "literal", "name", "self", "text"} or token.text in {"(", "@"}

    def _argument(self) -> Expression:
        if not self.tokens.accept("mark", "("):
            return self._value()
        self.tokens.enter()
        value = self._value()
        arguments, named = self._arguments()
        self.tokens.take("mark", ")")
        self.tokens.leave()
        return Call(_original(value), arguments, named)

    def _value(self) -> Expression:
        tokens = self.tokens
        if text := tokens.accept("text"):
            quote = text.text[0]
            return Literal(text.text[1:-1].replace(f"\\{quote}", quote))
        if literal := tokens.accept("literal"):
            return Literal(_literal(literal.text))
        if self._has_feeds and (feed := tokens.accept("feed")):
            return Path(("[[]]", feed.text[2:-2].strip()))
        is_data = tokens.accept("mark", "@") is not None
        return Path(("@", *self._path()) if is_data else self._path())

    def _path(self) -> tuple[str, ...]:
        parts: list[str] = []
        has_names = False
        while True:
            if token := self.tokens.accept("self"):
                is_name, part = False, "this" if token.text == "." else ".."
            elif name := self.tokens.accept("name"):
                is_name = name.text != "this"
                part = name.text[1:-1] if name.text.startswith("[") else name.text
            else:
                raise self.tokens.refuse()
            if has_names and not is_name:
                raise NotRead(f"A path can't contain `{part}` after a name.")
            has_names = has_names or is_name
            parts.append(part)
            if not self.tokens.accept("mark", ".", "/"):
                break
        return tuple(parts)


def _literal(text: str) -> float | bool | None:
    if text in _LITERALS:
        return _LITERALS[text]
    return float(text) if "." in text else int(text)
