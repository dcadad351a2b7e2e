"""Handlebars, as handlebars.js reads it: https://handlebarsjs.com/guide/.

The names of a path are the parts of a `Path`. Its first part can also be `this`, `..` (the data
outside of a block), `@` before the name of a variable, or `[[]]` for a feed of Iterable.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property

from attrs import frozen

from .blocks import (
    Builder,
    Certainty,
    Closing,
    Divider,
    Ends,
    Opening,
    Statement,
    Tag,
    as_condition,
    loop_builder,
    scan,
    text_builder,
)
from .expressions import NotRead, Token, Tokens, read_number, unexpected
from .tree import (
    Assignment,
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
    Unread,
)

_FEED = re.compile(
    r"""\[\[(?!\d)(?>(?:
        [\#/^]?(?:[\w@$.\x20]|\{\{[^{}\n]{0,100}+\}\}|\[[^\[\]\n]{0,100}+\]){1,300})
        |\{[^\[\]{}\n]{1,300}+\})\]\]
    """,
    re.VERBOSE | re.ASCII,
)
_SUBSTITUTION = re.compile(
    r"""<%=?\s{0,9}+(?P<asm>asm_\w{1,60}+)\s{0,9}+%>
      | \[%(?P<value>[A-Za-z_]\w{0,99}+)(?:\s{0,9}+\|[^%\]\n]{0,100}+)?%\]
      | \[(?P<link>(?i:unsubscribe(?:_preferences)?|weblink|sender_[a-z]{3,7}))\](?![(:\[])
      | \{\{\s{0,9}+(?P<name>[\w.]{1,100}+)\s{0,9}+\|\s{0,9}+(?P<text>[^{}|"'\n]{0,300}+)\}\}
    """,
    re.VERBOSE | re.ASCII,
)
_OPENING = re.compile(r"\{\{")
_ESCAPED = re.compile(r"(?<=\\)(?<!\\\\)\{\{(?:(?>(?:(?!\{\{|\}\}).)*)\}\})?", re.DOTALL)
"""A tag after one backslash, or its beginning if another tag begins before its end."""
_TAG = re.compile(
    r"\{\{(?:(?P<raw_block>\{\{)|~?(?P<form>!--|!|#>|#\*|>|#|/|\^\s*~?(?=\}\})|\^|\{|&|\*)?)"
)
_SHOWS_NOTHING = re.compile(r"\{\{~?(?:[#/^!>]|\s*else(?![\w$-]))")
_END_OF_LINE = re.compile(r"[ \t]*(?:\r?\n|\Z)")
_ELSE = re.compile(r"\s*else(?![\w$-])")
_END_OF_COMMENT = re.compile(r"\}\}")
_END_OF_LONG_COMMENT = re.compile(r"--~?\}\}")
_END_OF_RAW_BLOCK = re.compile(r"\{\{\{\{/([^{}]*+)\}\}\}\}")
_ID = r"""[^\s!"#%-,./;->@\[-^`{-~]+(?=[=~}\s/.)\]|])"""
_TOKEN = re.compile(
    rf"""\s*(?:
      (?P<end>\}}\}}\}}\}}|\}}~?\}}\}}|~?\}}\}})
    | (?P<text>"(?>(?:\\"|[^"])*)"|'(?>(?:\\'|[^'])*)')
    | (?P<literal>(?:true|false|undefined|null|-?[0-9]+(?:\.[0-9]+)?)(?=[~}}\s)]))
    | (?P<self>\.\.|\.(?=[=~}}\s/.)\]|]))
    | (?P<mark>as\s+\||[().|/=@])
    | (?P<feed>\[\[[^\[\]{{}}\n]*+\]\])
    | (?P<name>{_ID}|\[(?>(?:\\\]|[^\]])*)\])
    )""",
    re.VERBOSE,
)
_BEGINNINGS = {"feed", "literal", "name", "self", "text"}
"""The tokens that can begin a value."""
_EQUALS = Token("mark", "=")
_LITERALS: Mapping[str, bool | None] = {
    "true": True,
    "false": False,
    "undefined": None,
    "null": None,
}


def read_handlebars(text: str) -> Iterator[Tag]:
    """Yield the tags of the text, in order. `[[name]]` in a tag is a path that begins with `[[]]`.

    Only Iterable has such values. The words of the other ESPs do not contain the name `[[]]`.
    """
    return scan(text, _OPENING, _Reader(text, Ends(text)).tag)


def read_feeds(text: str) -> Iterator[Tag]:
    """Yield the tags `[[name]]` of Iterable, in order."""
    return scan(text, _FEED, _feed)


def _feed(tag: re.Match[str]) -> Output:
    return Output(*tag.span(), Path(("[[]]", *tag[0].strip("[]{} ").split("."))))


def read_substitutions(text: str) -> Iterator[Tag]:
    """Yield the older tags of SendGrid, in order.

    These are `{{name | text}}`, `[%name | text%]`, `[Unsubscribe]` and `<%asm_…%>`.
    """
    return scan(text, _SUBSTITUTION, _substitution)


def _substitution(tag: re.Match[str]) -> Output | Tag:
    start, end = tag.span()
    if tag["name"]:
        default = Filter("default", (Literal(tag["text"].strip()),))
        return Output(start, end, Filtered(Path(tuple(tag["name"].split("."))), (default,)))
    certainty = Certainty.CODE if tag["asm"] else Certainty.POSSIBLE
    output = Output(start, end, Path((tag["asm"] or tag["value"] or tag["link"],)))
    return Tag(start, end, (output,), certainty)


def find_stripped(text: str, tags: Iterable[Tag]) -> Iterator[tuple[int, int]]:
    """Yield the places of white space that is not shown, because its line has only a tag.

    The tag is one that shows nothing itself: of a block, or a comment.
    """
    offset, is_new_line = 0, True
    for tag in tags:
        before = text[offset : tag.start]
        rest = before.rstrip(" \t")
        is_new_line = rest.endswith("\n") or (is_new_line and not rest)
        after = _END_OF_LINE.match(text, tag.end)
        if is_new_line and after is not None and _SHOWS_NOTHING.match(text, tag.start):
            yield offset + len(rest), tag.start
            yield after.span()
            offset = after.end()
        else:
            offset, is_new_line = tag.end, False


@frozen
class _Reader:
    _text: str
    _ends: Ends

    def tag(self, opening: re.Match[str]) -> Statement:
        """Return the tag that begins here. One backslash before it makes it text."""
        start = opening.start()
        escaped = _ESCAPED.match(self._text, start)
        if escaped is not None:
            return Raw(start - 1, escaped.end(), start, escaped.end())
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
        end = self._ends.find(_END_OF_LONG_COMMENT if is_long else _END_OF_COMMENT, offset)
        if end is None:
            last = "--}}" if is_long else "}}"
            return Unread(start, offset, f"This comment has no `{last}`.")
        return Comment(start, end.end())

    def _raw_block(self, start: int) -> Node:
        read = self._read(start, start + 4)
        if isinstance(read, Unread):
            return read
        expressions, end, closing = read
        name = expressions.name()
        last = f"{{{{{{{{/{name}}}}}}}}}"
        if closing != "}}}}" or self._last_ends.get(name, -1) < end:
            return Unread(start, end, f"This block has no `{last}`.")
        text_end = self._text.index(last, end)
        return Raw(start, text_end + len(last), end, text_end)

    @cached_property
    def _last_ends(self) -> Mapping[str, int]:
        """The offset of the last end of a raw block with each name."""
        return {end[1]: end.start() for end in _END_OF_RAW_BLOCK.finditer(self._text)}

    def _read(self, start: int, offset: int) -> tuple[_Expressions, int, str] | Unread:
        """Return what reads the tag, and the end of the tag with its delimiter."""
        tokens: list[Token] = []
        while (match := _TOKEN.match(self._text, offset)) is not None:
            offset, kind = match.end(), match.lastgroup or ""
            if kind == "end":
                closing = match[kind].replace("~", "")
                return _Expressions(Tokens(iter(tokens))), offset, closing
            tokens.append(Token(kind, match[kind]))
        return Unread(start, max(offset, start + 2), unexpected(self._text, offset))

    def _tag(self, start: int, form: str, offset: int) -> Statement:
        read = self._read(start, offset)
        if isinstance(read, Unread):
            return read
        expressions, end, closing = read
        wanted = "}}}" if form == "{" else "}}"
        if closing != wanted:
            return Unread(start, end, f"This tag ends with `{closing}`, not `{wanted}`.")
        try:
            return self._statement(start, end, form, expressions)
        except NotRead as error:
            return Unread(start, end, str(error))

    def _statement(self, start: int, end: int, form: str, read: _Expressions) -> Statement:
        """Return what a tag is whose form is `#`, `/`, `else` or another one."""
        match form:
            case "" | "&" | "{":
                match read.only():
                    case Call("assign", (Literal(str() as name), *_)) as value:
                        return Assignment(start, end, name, value)
                    case value:
                        return Output(start, end, value, is_raw=form != "")
            case "/":
                return Closing(start, end, f"/{read.only_name()}")
            case "else" if read.tokens.accept_end():
                return Divider(start, end, "else")
            case "else":
                return Divider(start, end, "else …", self._chained(read))
            case "^" if read.tokens.accept_end():
                return Divider(start, end, "else")
            case "#" | "^":
                return self._block(start, end, form, read)
            case ">":
                return Opaque(start, end, ">", *read.arguments_of_tag())
        raise NotRead(f"`{{{{{form}` is not supported.")

    def _block(self, start: int, end: int, form: str, read: _Expressions) -> Opening:
        expression, variables = read.block()
        name = _original(expression)
        match expression:
            case _ if form == "^":
                build = as_condition(Operation("not", (expression,)))
            case Call("each", (items,)):
                build = loop_builder(variables, items)
            case Call("if" | "unless", (_,)):
                build = as_condition(self._test(expression))
            case Call("assign", (Literal(str() as variable),)):  # a helper of Handlebars.java
                build = text_builder(variable)
            case _:
                build = _opaque_builder(expression)
        dividers = frozenset({"else", "else …"})
        return Opening(start, end, f"/{name}", build, dividers, final="else")

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


def _opaque_builder(expression: Expression) -> Builder:
    def build(start: int, end: int, branches: Sequence[Branch]) -> Opaque:
        nodes = tuple(node for branch in branches for node in branch.nodes)
        match expression:
            case Call(name, arguments, named):
                return Opaque(start, end, name, arguments, named, nodes, tuple(branches))
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


@frozen
class _Expressions:
    """Reads the expressions in a tag."""

    tokens: Tokens

    def only(self) -> Expression:
        """Return the value, or the call of a helper, which is all of the tag."""
        return self.tokens.whole(self._call)

    def name(self) -> str:
        """Return the name at the beginning of the tag, or an empty text."""
        token = self.tokens.peek()
        return token.text if token.kind == "name" else ""

    def only_name(self) -> str:
        """Return the path in the end of a block, as it is written."""
        return _original(self.tokens.whole(self._value))

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
        return self.tokens.whole(self._arguments)

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
            token = self.tokens.peek()
            if token.kind in _BEGINNINGS and self.tokens.peek(1) == _EQUALS:
                name = self.tokens.take("name").text
                self.tokens.skip()
                named.append((name, self._argument()))
            elif named or not (token.kind in _BEGINNINGS or token.text in {"(", "@"}):
                return tuple(arguments), tuple(named)
            else:
                arguments.append(self._argument())

    def _argument(self) -> Expression:
        if not self.tokens.accept("mark", "("):
            return self._value()
        with self.tokens.nested():
            value = self._value()
            arguments, named = self._arguments()
            self.tokens.take("mark", ")")
        return Call(_original(value), arguments, named)

    def _value(self) -> Expression:
        kind, text = self.tokens.peek()
        if kind in {"name", "self"}:
            return Path(self._path())
        if kind == "end" or (kind == "mark" and text != "@"):
            raise self.tokens.refuse()
        self.tokens.skip()
        match kind:
            case "text":
                return Literal(text[1:-1].replace(f"\\{text[0]}", text[0]))
            case "literal":
                return Literal(_LITERALS[text]) if text in _LITERALS else read_number(text)
            case "feed":
                return Path(("[[]]", text[2:-2].strip()))
        return Path(("@", *self._path()))

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
