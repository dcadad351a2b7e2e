"""The merge tags of Mailchimp: https://mailchimp.com/help/all-the-merge-tags-cheat-sheet/.

A tag is `*|NAME|*`, or `*|WORD:…|*`. Names and words ignore case.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping

from .blocks import Closing, Divider, Opening, Statement, Tag, as_condition, opaque_block, scan
from .tree import Expression, Filter, Filtered, Literal, Operation, Output, Path

_TAG = re.compile(r"\*\|(?P<code>[^|*\n]{1,300})\|\*")
_COMPARISON = re.compile(
    r"\s*(?P<name>[\w ]+?)\s*(?P<operator>!=|>=|<=|=|>|<)\s*(?P<value>.*)", re.DOTALL
)
_OPERATORS = {"=": "=="}
_FILTERS = {"HTML", "LOWER", "TITLE", "UPPER", "URL"}
_BLOCKS = {
    "FEED": "END:FEED",
    "FEEDBLOCK": "END:FEEDBLOCK",
    "FEEDITEMS": "END:FEEDITEMS",
    "INTERESTED": "END:INTERESTED",
    "RSSITEMS": "END:RSSITEMS",
    "GROUP": "END:GROUP",
}


def read_merge_tags(text: str) -> Iterator[Tag]:
    """Yield the tags of the text, in order. A path has one part: the name of the tag."""
    return scan(text, _TAG, _read)


def _read(tag: re.Match[str]) -> Statement:
    start, end = tag.span()
    word, colon, rest = tag["code"].strip().partition(":")
    read = _TAGS.get(word.upper()) if colon or word.upper() == "ELSE" else None
    return _value(start, end, tag["code"].strip()) if read is None else read(start, end, rest)


def _value(start: int, end: int, code: str) -> Statement:
    word, _, rest = code.partition(":")
    if word.upper() in _BLOCKS and rest:
        block = opaque_block(start, end, word.upper(), (Literal(rest),))
        return Opening(start, end, _BLOCKS[word.upper()], block.build, block.dividers)
    if word.upper() in _FILTERS and rest:
        return Output(start, end, Filtered(_name(rest), (Filter(word.upper()),)))
    return Output(start, end, _name(code))


def _name(name: str) -> Path:
    return Path((name.strip(),))


def _test(code: str) -> Expression:
    found = _COMPARISON.fullmatch(code)
    if found is None:
        return _name(code)
    operator = _OPERATORS.get(found["operator"], found["operator"])
    return Operation(operator, (_name(found["name"]), Literal(found["value"].strip())))


def _if(start: int, end: int, code: str) -> Statement:
    return _condition(start, end, _test(code))


def _if_not(start: int, end: int, code: str) -> Statement:
    return _condition(start, end, Operation("not", (_test(code),)))


def _condition(start: int, end: int, test: Expression) -> Opening:
    dividers = frozenset({"ELSEIF", "ELSE"})
    return Opening(start, end, "END:IF", as_condition(test), dividers, final="ELSE")


def _else_if(start: int, end: int, code: str) -> Statement:
    return Divider(start, end, "ELSEIF", _test(code))


def _else(start: int, end: int, _: str) -> Statement:
    return Divider(start, end, "ELSE")


def _end(start: int, end: int, word: str) -> Statement:
    return Closing(start, end, f"END:{word.strip().upper()}")


_TAGS: Mapping[str, Callable[[int, int, str], Statement]] = {
    "ELSE": _else,
    "ELSEIF": _else_if,
    "END": _end,
    "IF": _if,
    "IFNOT": _if_not,
    "UNLESS": _if_not,
}
