"""The merge tags of Mailchimp: https://mailchimp.com/help/all-the-merge-tags-cheat-sheet/.

A tag is `*|NAME|*`, or `*|WORD:…|*`. Names and words ignore case.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from attrs import evolve

from .blocks import Closing, Divider, Opening, Statement, Tag, as_condition, opaque_block, scan
from .tree import Expression, Filter, Filtered, Literal, Operation, Output, Path

_TAG = re.compile(r"\*\|(?P<code>(?:[^|*\n]|\|\|(?=[^|*\n])){1,300})\|\*")
_COMPARISON = re.compile(
    r"\s*(?P<name>[\w ]+?)\s*(?P<operator>!=|>=|<=|=|>|<)\s*(?P<value>.*)", re.DOTALL
)
_JOINER = re.compile(r"&&|\|\||\s(?:and|or)\s(?=[^=<>]+[=<>])", re.IGNORECASE)
"""Guides say that a block has one test. No source establishes what Mailchimp does with several."""
_OPERATORS = {"=": "=="}
_FILTERS = {"HTML", "LOWER", "TITLE", "UPPER", "URL"}
_BLOCKS = {"FEED", "FEEDBLOCK", "FEEDITEMS", "GROUP", "INTERESTED", "RSSITEMS"}


def read_merge_tags(text: str) -> Iterator[Tag]:
    """Yield the tags of the text, in order.

    A path has one part: the name of the tag. That of a date of today also has its format.
    """
    return scan(text, _TAG, _read)


def _read(tag: re.Match[str]) -> Statement:
    start, end = tag.span()
    code = tag["code"].strip()
    word, colon, rest = code.partition(":")
    match word.upper(), colon:
        case "IF", ":":
            return _condition(start, end, _test(rest))
        case "IFNOT" | "UNLESS", ":":
            return _condition(start, end, Operation("not", (_test(rest),)))
        case "ELSEIF", ":":
            return Divider(start, end, "ELSEIF", _test(rest))
        case "ELSE", _:
            return Divider(start, end, "ELSE")
        case "END", ":":
            return Closing(start, end, f"END:{rest.strip().upper()}")
        case block, ":" if block in _BLOCKS and rest:
            opening = opaque_block(start, end, block, (Literal(rest),))
            return evolve(opening, last=f"END:{block}")
        case name, ":" if name in _FILTERS and rest:
            return Output(start, end, Filtered(_name(rest), (Filter(name),)))
        case "DATE", ":" if rest:
            return Output(start, end, Path(("DATE", rest)))
    return Output(start, end, _name(code))


def _name(name: str) -> Path:
    return Path((name.strip(),))


def _test(code: str) -> Expression:
    first, *others = _JOINER.split(code)
    if others:
        return Operation("joined", (_test(first), *map(_test, others)))
    found = _COMPARISON.fullmatch(code)
    if found is None:
        return _name(code)
    operator = _OPERATORS.get(found["operator"], found["operator"])
    return Operation(operator, (_name(found["name"]), Literal(found["value"].strip())))


def _condition(start: int, end: int, test: Expression) -> Opening:
    dividers = frozenset({"ELSEIF", "ELSE"})
    return Opening(start, end, "END:IF", as_condition(test), dividers, final="ELSE")
