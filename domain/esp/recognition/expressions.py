"""The expressions in tags with braces: their paths, filters and calls, and the names they set."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import wraps
from typing import NamedTuple, TypeAlias

from attrs import Factory, define, frozen

from ..profiles.profile import Delimiter
from .delimiters import RawTag

Path: TypeAlias = tuple[str, ...]
"""The parts of a path: `a["b"].c` has three. The first one is its root."""

_KEY = r"""\[(?>"[^"]*+"|'[^']*+'|[^\[\]"']*+)\]"""
_TOKEN = re.compile(
    rf"""
      (?P<string>"[^"]*+"|'[^']*+'|`[^`]*+`|[\u2018-\u201d][^\u2018-\u201d]*+[\u2018-\u201d])
    | (?P<value>(?>(?:(?P<namespace>\w++)\.)?)\$\{{(?P<name>[^{{}}]*+)\}}
        (?P<tail>(?>(?:\.\$\{{[^{{}}]*+\}}|\.\w++|{_KEY})*)))
    | (?P<number>\d[\w.]*+)
    | (?P<path>(?:[A-Za-z_@$][\w$]*+|{_KEY})(?>(?:\.[\w$@]++|\.?{_KEY}|-\w++)*))
    | (?P<mark>[=!<>]=|\S)
    """,
    re.VERBOSE | re.ASCII,
)
_PART = re.compile(rf"({_KEY})|([^.\[\]]++)")
_OPENING = re.compile(r"(?:\{\{\{?|\{%|\[\[\{?)[~+-]?")
_CLOSING = re.compile(r"[~-]?(?:\}\}|%\}|\}?\]\])\Z")
_FEED = re.compile(r"(?<!\A)\[\[[^\[\]]*+\]\]")
"""A value of a data feed in another tag of Iterable."""
_LOOPS = frozenset(["for", "tablerow"])
_SETTING = frozenset(["assign", "capture", "decrement", "increment", "macro", "set"])
_BEFORE_NAMES = frozenset(["as", "assign", "capture", "import", "save"])
"""Words in a tag before a name that the tag sets: `{% from 'x' import NAME %}`."""
_FREE_TEXT = frozenset(
    [
        "abort_message",
        "capture",
        "catalog_items",
        "catalog_selection_items",
        "cio_link",
        "connected_content",
        "countdown",
        "coupon_code",
        "cta",
        "customobject",
        "customobjects",
        "dnd_area",
        "dnd_column",
        "dnd_module",
        "dnd_row",
        "dnd_section",
        "import",
        "include",
        "liquid",
        "load",
        "macro",
        "message_extras",
        "module",
        "multi_language",
        "promotion",
        "render_liquid",
        "render_variable",
        "shopping_cart",
        "templatetag",
        "today",
        "translation",
        "update_property_link",
        "widget_attribute",
    ]
)
"""Tags whose arguments are no expressions."""
_OPERATORS = frozenset(
    ["and", "by", "contains", "else", "elif", "elsif", "eq", "if", "in", "is", "not", "or", "when"]
)


class _Token(NamedTuple):
    kind: str
    text: str
    match: re.Match[str]


_END = _Token("end", "", re.match("", ""))  # type: ignore[arg-type]


@frozen
class Interpolation:
    """A value of Braze: `NAMESPACE.${NAME}`, and whether a part of it follows."""

    namespace: str
    name: str
    has_tail: bool


@define
class Expression:
    """The code in a tag with braces.

    `word` is the name of the statement or the block. `filters` are their names with the character
    that begins their arguments: `:`, `(` or nothing. `helpers` are the calls of Handlebars, `calls`
    those of other languages. `sets` are the names that the tag gives to values. `is_parsed` is
    false if the arguments are no expressions. The result is shared: do not change it.
    """

    word: str = ""
    paths: list[Path] = Factory(list)
    interpolations: list[Interpolation] = Factory(list)
    filters: list[tuple[str, str]] = Factory(list)
    calls: list[str] = Factory(list)
    helpers: list[str] = Factory(list)
    sets: set[str] = Factory(set)
    is_parsed: bool = True


def _once_per_tag(parse: Callable[[RawTag], Expression]) -> Callable[[RawTag], Expression]:
    """Return the parser, which reads each tag once. The tag keeps its expression."""

    @wraps(parse)
    def parse_once(tag: RawTag) -> Expression:
        if parse not in tag.expressions:
            tag.expressions[parse] = parse(tag)
        found: Expression = tag.expressions[parse]
        return found

    return parse_once


@_once_per_tag
def parse_piped(tag: RawTag) -> Expression:
    """Return the expression in a tag of Liquid, Django or HubL: `{{ x|filter }}` or `{% … %}`."""
    tokens = _tokens(tag)
    expression = Expression()
    paths: list[list[str]] = []
    if tag.delimiter is Delimiter.STATEMENT and len(tokens) > 1:
        expression.word = tokens.pop(0).text
        expression.is_parsed = expression.word not in _FREE_TEXT
    before, is_set = _END, expression.word in _SETTING | _LOOPS
    for index, token in enumerate(tokens[:-1]):
        after = tokens[index + 1]
        if token.kind == "string" and paths and _is_lookup(tokens, index):
            paths[-1].append(token.text[1:-1])
        elif token.kind == "value":
            expression.interpolations.append(_interpolation(token))
            is_set = False
        elif token.kind == "path" and not token.text.startswith("["):  # That is a list.
            path = _parts(token.text)
            if before.text == "|":
                expression.filters.append((token.text, after.text if after.text in ":(" else ""))
            elif is_set or before.text in _BEFORE_NAMES:
                if token.text == "in":
                    is_set = False
                else:
                    expression.sets.add(path[0])
                    is_set = expression.word in {*_LOOPS, "macro"}
            elif before.text == "is" or (before.text == "not" and tokens[index - 2].text == "is"):
                pass  # a test of HubL, such as `is defined`
            elif after.text == "(" and token.text not in _OPERATORS:
                if len(path) > 1:  # The call of a method, such as `contact.city.split(" ")`.
                    paths.append([*path[:-1]])
                else:
                    expression.calls.append(token.text)
            elif after.text == "=":
                if expression.word == "with":
                    expression.sets.add(path[0])
            elif after.text != ":" or before.text == "?":
                paths.append([*path])
        before = token
    expression.paths = list(map(tuple, paths))
    return expression


@_once_per_tag
def parse_handlebars(tag: RawTag) -> Expression:
    """Return the expression in a tag of Handlebars: `{{x}}`, `{{helper x}}` or `{{#block x}}`."""
    tokens = _tokens(tag)
    expression = Expression()
    is_block = tokens[0].text in {"#", "/", "^"}
    if is_block:
        tokens.pop(0)
    if tokens[0].text == "else":
        tokens.pop(0)
        is_block = True
    if is_block:
        expression.word = tokens[0].text
    before = _END
    for index, token in enumerate(tokens[:-1]):
        after = tokens[index + 1]
        is_first = index == 0 or before.text == "("
        if token.text == "|" and before.text == "as":
            expression.sets.update(each.text for each in tokens[index + 1 :] if each.kind == "path")
            break
        if token.text == "|":
            argument = tokens[index + 2].text if after.kind != "end" else ""
            expression.filters.append((after.text, argument if argument in ":(=" else ""))
            break
        if token.kind == "path" and token.text != "as" and after.text != "=":
            is_call = is_first and (before.text == "(" or is_block or _begins_operand(after))
            if is_call:
                expression.helpers.append(token.text)
            elif not token.text.startswith("@"):  # `@index` belongs to a loop, `[@index]` does not.
                expression.paths.append(_parts(token.text))
        elif token.kind == "value":
            expression.interpolations.append(_interpolation(token))
        before = token
    return expression


def _tokens(tag: RawTag) -> list[_Token]:
    opening = _OPENING.match(tag.text)
    closing = _CLOSING.search(
        tag.text.removesuffix("}") if tag.delimiter is Delimiter.RAW_EXPRESSION else tag.text
    )
    end = len(tag.text) if closing is None else closing.start()
    code = _FEED.sub(lambda match: " " * len(match[0]), tag.text[:end])
    matches = _TOKEN.finditer(code, 0 if opening is None else opening.end())
    tokens = [_Token(each.lastgroup or "", each[0], each) for each in matches]
    return [*tokens, _END]


def _interpolation(token: _Token) -> Interpolation:
    match = token.match
    return Interpolation(match["namespace"] or "", match["name"].strip(), bool(match["tail"]))


def _is_lookup(tokens: list[_Token], index: int) -> bool:
    """Return whether the string is the argument of `x|lookup:'…'`, directly after a path."""
    before = tokens[max(0, index - 4) : index]
    return [each.text for each in before[-3:]] == ["|", "lookup", ":"] and (
        len(before) == 4 and before[0].kind in {"path", "string"}
    )


def _begins_operand(token: _Token) -> bool:
    return token.kind in {"path", "string", "number"} or token.text == "("


def _parts(path: str) -> Path:
    return tuple(_unquoted(key[1:-1]) if key else word for key, word in _PART.findall(path))


def _unquoted(key: str) -> str:
    return key[1:-1] if key[:1] in {'"', "'"} else key
