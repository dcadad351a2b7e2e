"""The syntax of content: find references and blocks. `docs/content.md` has the grammar."""

from __future__ import annotations

import re
from collections.abc import Sequence
from contextlib import suppress
from functools import cached_property
from itertools import islice

from attrs import Factory, define, evolve

from ..arguments import require_type
from ..conditions import Condition, InvalidCondition, LocatedViolation, TextPosition
from ..conditions.syntax import parse_condition_on_data
from ..conditions.tree import Comparison, comparisons, condition_keys, replace_comparisons
from ..data_paths import DATA_PATH, EVENT, LOOP, MAX_PARTS, NUMBER, DataPath
from ..errors import Rule, Violation
from ..spans import Spans
from ..text import character_violation
from .errors import MAX_VIOLATIONS, MAX_WARNINGS, InvalidContent
from .filters import Filter, parse_filter, shows_text
from .lookalikes import (
    MESSAGES,
    describe_system_path,
    find_lookalikes,
    find_system_lookalikes,
    find_system_path,
    find_variables,
)
from .system_values import SYSTEM_VALUES
from .tree import (
    Block,
    Branch,
    Content,
    Lines,
    Loop,
    Node,
    Reference,
    SystemReference,
    Text,
)
from .warning_codes import WarningCode

__all__ = ["parse_content", "read_content"]

MAX_BLOCK_DEPTH = 10
"""The number of blocks inside each other."""
MAX_CONDITIONS = 1_000
"""The number of conditions in content."""
MAX_FILTERS = 8
"""The number of filters in a reference, without the default."""
_MAX_DISTANCE = 2_000
"""The number of characters before a tag without a block in which a misspelled `#if` is searched."""
_MAX_CONDITION_LENGTH = 65_536
"""The number of characters in a condition. One of 1 MiB would take 2 s."""


def parse_content(source: str) -> Content:
    """Return the references, blocks and texts of the content, and up to 1,000 warnings.

    The time is proportional to the length of the content, which has no limit here.

    Raises: InvalidContent, with up to 1,000 violations, if a filter, a condition or the structure
    of the blocks is invalid, if there are too many conditions, or if the content contains U+0000
    or a lone surrogate.
    """
    content = read_content(source)
    if content.violations:
        raise InvalidContent(content.violations)
    return content


def read_content(source: str) -> Content:
    """Return the content as `parse_content` does, with its violations instead of an error.

    Checks, exports and previews reject such content, and report its unknown keys, too.
    """
    require_type(str, source=source)
    lines = Lines(source)
    parser = _Parser(source, lines)
    violation = character_violation(source)
    if violation is not None:
        parser.violations.append(lines.position(0).locate(violation))
    else:
        with suppress(InvalidContent):  # The parser has added the reason to its violations.
            parser.parse()
    nodes = parser.nodes()
    masked = "".join(parser.masked)
    found = (*find_lookalikes(masked), *parser.lookalikes)
    lookalikes = {
        **{offset: (code, MESSAGES[code]) for offset, code in found},
        **dict(islice(find_system_lookalikes(masked, Spans(parser.raw_parts)), MAX_WARNINGS)),
    }
    return Content(
        source=source,
        nodes=nodes,
        masked=masked,
        lines=lines,
        warnings=tuple(
            lines.warning(offset, code, message)
            for offset, (code, message) in sorted(lookalikes.items())[:MAX_WARNINGS]
        ),
        violations=tuple(parser.violations),
    )


def statement(name: str) -> str:
    """Return the pattern of `{% NAME %}`, also with `-` and with a text after the name."""
    return rf"\{{%[+-]?\s*+{name}\b[^{{}}%]*+%\}}"


_TAG = re.compile(
    statement("(?P<raw>raw|verbatim)")
    + r"""
    | \{\{~?(?:
        \s*+recipient\.(?P<key>\w++)(?P<after>\s*+(?:~?\}\}|\|))
      | (?P<comment>!(?:--)?)
      | \s*+(?P<else>\#?(?i:else|else?if|elif))(?=[\s~}])
      | \s*+(?P<open>[#^](?P<name>[\w.-]++))
      | \s*+/(?P<close>[\w.-]++)\s*+~?\}\}
      | \s*+(?P<path>"""
    + DATA_PATH
    + r""")(?P<path_after>\s*+(?:~?\}\}|\|))
    )
    """,
    re.VERBOSE,
)
_RAW_ENDS = {name: re.compile(statement(f"end{name}")) for name in ("raw", "verbatim")}
_COMMENT_ENDS = {"!": re.compile(r"\}\}"), "!--": re.compile(r"--~?\}\}")}
"""The ends after `!`, as in Handlebars: `{{!--}}` is complete."""
_TEXT = r"""(?:"(?>(?:[^"\\]|\\.)*)"|'(?>(?:[^'\\]|\\.)*)')"""
_FILTER = re.compile(
    rf"\s*+(?P<name>\w++)\s*+(?>(?::\s*+(?:(?P<text>{_TEXT})|(?P<number>-?[0-9]{{1,9}}+(?:\.[0-9]{{1,4}}+)?))\s*+)?)"
    r"(?P<end>\||~?\}\})",
    re.DOTALL,
)
"""One filter, up to the `|` before the next one or to the end of the tag.

Like conditions, filters end at `{{` outside of texts, so all matches together take linear time.
"""
_REST_OF_TAG = re.compile(r"[^{}]*+\}\}")
_CONDITION = re.compile(
    rf"""(?P<condition>(?>(?:[^"'{{}}\\~]++|{_TEXT}|\{{(?!\{{)|\}}(?!\}})|~(?!\}}\}}))*))~?\}}\}}""",
    re.DOTALL,
)
"""A condition up to the end of its tag.

It ends at `{{` and at a backslash outside of texts. So at most three matches that begin at
different tags can read the same character, and all matches together take linear time.
"""
_TEXTS = re.compile(_TEXT, re.DOTALL)
_UNENDED = re.compile(
    r"""(?>(?:[^"'{}\\]++|"[^"{}\n]*+"|'[^'{}\n]*+')*)(?:(?P<quote>["'])|\}(?!\}))"""
)
"""The first quote without a closing one in a tag, or the first single brace."""
_UNQUOTED_DEFAULT = re.compile(r"\s*+default\s*+:\s*+(?:[^\s\"'}]|&quot;)")
_REFERENCE_IN_TAG = re.compile(r"[^{}]*?(?<![\w.])recipient\.\w")
_MISSPELLED_IF = re.compile(
    r"\{\{(?>(?:[^{}\w&]|&nbsp;|&\#160;){0,9})if\b[^{}]*?(?<![\w.])recipient\.\w"
)
_ELSE_IF = re.compile(r"\s++if\b")
_END = re.compile(r"\s*+~?\}\}")
_PREFIX = re.compile(
    rf"{_TEXT}|(?<![\w.])(?:recipient\.(?=(?P<key>\w++))|(?P<path>{DATA_PATH}))", re.DOTALL
)
_LOOP = re.compile(
    rf"\s++(?P<items>{DATA_PATH})\s++as\s++(?P<variable>[A-Za-z_][A-Za-z0-9_]{{0,62}}+)\s*+~?\}}\}}"
)
_LOOP_TEST = re.compile(
    rf"{_TEXT}|(?<![\w.])loop\s++is\s++(?>(?P<not>not\s++)?)(?P<test>first|last)\b", re.DOTALL
)
_NO_VARIABLES = {EVENT, LOOP, "recipient", "link", "sender", "today", "this"}
MAX_PATHS = 1_000
"""The number of different paths to data in content. Each one has its own code."""
MAX_LOOP_DEPTH = 2
"""The number of loops inside each other."""
_OPERATOR = re.compile(r"[=<>]|\bis\s|\bcontains\s")
"""An operator of this language, which Handlebars does not have."""
_PREFIX_TEXT = "recipient."
_ESCAPE = re.compile(r"\\(.)", re.DOTALL)
_UNKNOWN_ESCAPE = re.compile(r"""(?>(?:[^\\]++|\\[\\"'])*)\\""")

_OTHER_BLOCKS = {"each": WarningCode.LOOP_LOOKALIKE, "unless": WarningCode.UNLESS_LOOKALIKE}
_NO_BLOCK = "This tag belongs to no block. Write `{{#if recipient.KEY …}}` before it, or delete it."
_EXPECTED_IF = "Write this tag as `{{#if recipient.KEY …}}`."
_NO_END = "This block has no {{/if}}."
_TEST_OUTSIDE = (
    "Only a loop has a first and a last round. Write this between `{{#each …}}` and `{{/each}}`."
)
_NO_END_OF_LOOP = "This loop has no {{/each}}."
_NO_END_OF_COMMENT = "This comment has no end. Write `{end}` after it."
_NO_END_OF_CONDITION = "This condition has no end. Write `}}` after it."
_NO_END_OF_TEXT = "This quote has no closing quote before the end of the tag. Add it."
_ONE_BRACE = "Write two braces at the end of the tag: `}}`."
_CAPITALS_IN_IF = "Write `{{#if` in small letters."
_CAPITALS_IN_END = "Write `{{{{/{name}}}}}` in small letters."
_EXPECTED_ELSE = "Write `{{else}}` or `{{else if recipient.KEY …}}`."
_EXPECTED_ELSE_IF = "Write `{{else if CONDITION}}`, such as `{{else if recipient.KEY is set}}`."
_EXPECTED_FILTER = 'Write a filter, such as `| upper`, `| default: "text"`, or only `| expression`.'
_DEFAULT_IS_LAST = "Write `default` after the other filters: they do not change its text."
_EXPECTED_QUOTES = 'Write the default in straight quotes: `| default: "text"`.'


@define
class _OpenBlock:
    """A block without its end so far. The content itself is the outermost one.

    `nodes` are those of the current branch, and `other_tags` are the names and offsets of open tags
    of another language in it.
    """

    start: int = 0
    branch_start: int = 0
    condition: Condition | None = None
    loop: tuple[DataPath, str] | None = None
    has_else: bool = False
    branches: list[Branch] = Factory(list)
    nodes: list[Node] = Factory(list)
    other_tags: list[tuple[str, int]] = Factory(list)

    @property
    def name(self) -> str:
        """The name in the last tag of the block."""
        return "if" if self.loop is None else "each"

    def build(self, end: int) -> Block:
        branches = tuple(self.branches)
        if self.loop is None:
            return Block(branches, end)
        items, variable = self.loop
        return Loop(branches, end, items=items, variable=variable)

    def end_branch(self) -> None:
        self.branches.append(Branch(self.condition, tuple(self.nodes), self.branch_start))
        self.nodes = []


class _Parser:
    def __init__(self, source: str, lines: Lines) -> None:
        self.source, self.lines = source, lines
        self.violations: list[LocatedViolation] = []
        self.lookalikes: list[tuple[int, WarningCode]] = []
        self.masked: list[str] = []
        self.blocks = [_OpenBlock()]
        self.raw_parts: list[tuple[int, int]] = []
        self._misspelled: set[int] = set()
        self._raw_end = self._end = self._conditions = 0
        self._paths: set[DataPath] = set()
        self._unended: set[tuple[str, int]] = set()
        """The tags whose end was not found, with the offset at which the search ended."""

    def nodes(self) -> tuple[Node, ...]:
        """Return what was read. A block without an end reaches to the end of the content."""
        while len(self.blocks) > 1:
            self._end_block(len(self.source))
        return tuple(self.blocks[0].nodes)

    def parse(self) -> None:
        offset = 0
        while (tag := _TAG.search(self.source, offset)) is not None:
            if tag["key"]:
                offset = self._reference(tag)
            elif tag["path"]:
                offset = self._path(tag)
            elif tag["raw"]:
                offset = self._raw(tag)
            elif tag["comment"]:
                offset = self._comment(tag)
            elif tag["open"]:
                offset = self._open(tag)
            elif tag["else"]:
                offset = self._else(tag)
            else:
                offset = self._close(tag)
        for block in self.blocks[1:]:
            message = _NO_END if block.loop is None else _NO_END_OF_LOOP
            self._refuse(block.start, Rule.FORMAT, message)
        for name, start in self.blocks[0].other_tags:
            if name == "if":
                self._refuse(start, Rule.FORMAT, _NO_END)
        self._add_text(len(self.source))

    def _reference(self, tag: re.Match[str]) -> int:
        start, end = tag.span()
        reference = Reference(key=tag["key"], start=start)
        if tag["after"].endswith("|"):
            filters = self._match_filters(end)
            if filters and filters[-1]["end"] != "|":
                reference = self._with_filters(reference, filters)
                end = filters[-1].end()
            else:
                rest = _REST_OF_TAG.match(self.source, filters[-1].end() if filters else end)
                if rest is None:  # It is unclosed, so it is not a reference.
                    return end
                unquoted = _UNQUOTED_DEFAULT.match(self.source, rest.start())
                message = _EXPECTED_FILTER if unquoted is None else _EXPECTED_QUOTES
                self._refuse(start, Rule.FORMAT, message)
                end = rest.end()
        else:
            self._note_outer_braces(start, end)
        return self._add_reference(reference, end)

    def _path(self, tag: re.Match[str]) -> int:
        """Read a reference to a system value or to data. Other tags are code of an ESP."""
        start, end = tag.span()
        path, has_filters = DataPath(tag["path"]), tag["path_after"].endswith("|")
        value = SYSTEM_VALUES.get(tag["path"])
        if value is not None and not has_filters:
            self._note_outer_braces(start, end)
            return self._add_reference(SystemReference(value, start), end)
        if not self._is_data(path) or start < self._raw_end:
            return end
        reference = Reference(key=path, start=start)
        if has_filters:
            filters = self._match_filters(end)
            if not filters or filters[-1]["end"] == "|":
                return end
            found = len(self.violations)
            reference, end = self._with_filters(reference, filters), filters[-1].end()
            is_portable = not reference.filters or shows_text(reference.filters)
            if len(self.violations) > found or not is_portable:  # These are filters of an ESP.
                del self.violations[found:]
                return end
        else:
            self._note_outer_braces(start, end)
        violation = self._path_violation(path)
        if violation is not None:
            self._refuse(start, violation.rule, violation.message)
        return self._add_reference(reference, end)

    def _is_data(self, path: DataPath) -> bool:
        """Return whether this can be a path to data, and not only code of an ESP."""
        variables = self._variables()
        if path.root in variables or (path.root == LOOP and variables):
            return True
        return path.root == EVENT and len(path.parts) > 0 and not self._sets_event

    def _variables(self) -> list[str]:
        """Return the variables of the loops whose rounds are here, and not in an else part."""
        return [each.loop[1] for each in self.blocks if each.loop is not None and not each.has_else]

    @cached_property
    def _sets_event(self) -> bool:
        """Whether the code of an ESP sets `event`, which is its variable then."""
        return EVENT in find_variables(self.source)

    def _path_violation(self, path: DataPath) -> Violation | None:
        """Return what is wrong with the path, or None."""
        if not self._is_data(path):
            is_system = find_system_path(path) is not None
            message = "Write `recipient.KEY` or `event.NAME`."
            message = describe_system_path(path) if is_system else message
            return Violation(Rule.NOT_APPLICABLE if is_system else Rule.FORMAT, message)
        if path.root == LOOP and path.parts != (NUMBER,):
            message = "Write `loop.number`, and in conditions `loop is first` or `loop is last`."
            return Violation(Rule.FORMAT, message)
        if len(path.parts) > MAX_PARTS:
            message = f"A path has at most {MAX_PARTS} parts after `{path.root}`."
            return Violation(Rule.TOO_MANY_ITEMS, message)
        self._paths.add(path)
        if len(self._paths) > MAX_PATHS:
            message = f"Content has at most {MAX_PATHS:,} different paths to data."
            return Violation(Rule.TOO_MANY_ITEMS, message)
        return None

    def _note_outer_braces(self, start: int, end: int) -> None:
        if self.source[start - 1 : start] == "{" and self.source[end : end + 1] == "}":
            self.lookalikes.append((start, WarningCode.OUTER_BRACES))

    def _add_reference(self, reference: Reference | SystemReference, end: int) -> int:
        self._add_text(reference.start)
        self.blocks[-1].nodes.append(reference)
        return self._end_tag(end)

    def _match_filters(self, offset: int) -> list[re.Match[str]]:
        """Return the filters at this offset, up to the last one or to one that is malformed."""
        filters: list[re.Match[str]] = []
        while (found := _FILTER.match(self.source, offset)) is not None:
            filters.append(found)
            offset = found.end()
            if found["end"] != "|":
                break
        return filters

    def _with_filters(self, reference: Reference, filters: Sequence[re.Match[str]]) -> Reference:
        """Return the reference with the filters. Refuse invalid ones."""
        parsed: list[Filter] = []
        for found in filters:
            name, text, is_only = found["name"], self._text(found), len(filters) == 1
            number = found["number"]
            argument = text if number is None else (float if "." in number else int)(number)
            if name == "default" and text is not None:
                reference = evolve(reference, default=text)
                if found is not filters[-1]:
                    self._refuse(found.start("name"), Rule.FORMAT, _DEFAULT_IS_LAST)
            elif name == "expression" and argument is None and is_only:
                reference = evolve(reference, is_expression=True)
            elif name in ("default", "expression"):
                self._refuse(found.start("name"), Rule.FORMAT, _EXPECTED_FILTER)
            else:
                offset = found.start("name")
                if len(parsed) == MAX_FILTERS:
                    message = f"A reference has at most {MAX_FILTERS} filters."
                    self._refuse(offset, Rule.TOO_MANY_ITEMS, message)
                    break
                result = parse_filter(name, argument)
                if isinstance(result, Violation):
                    self._refuse(offset, result.rule, result.message, result.suggestion)
                else:
                    parsed.append(result)
        return evolve(reference, filters=tuple(parsed)) if parsed else reference

    def _text(self, found: re.Match[str]) -> str | None:
        """Return the text of a filter without its escapes. Refuse unknown ones."""
        text = found["text"]
        if text is None:
            return None
        if _UNKNOWN_ESCAPE.match(text) is not None:
            message = r"Write a backslash as `\\`: only `\\`, `\"` and `\'` are escapes."
            self._refuse(found.start("text"), Rule.FORMAT, message)
        return _ESCAPE.sub(r"\1", text[1:-1])

    def _raw(self, tag: re.Match[str]) -> int:
        """Note a part that languages of ESPs show as it is. Without an end, it is none."""
        if tag.start() >= self._raw_end:
            name = tag["raw"]
            found = self._find_end(name, _RAW_ENDS[name], tag.end(), len(self.source))
            if found is not None:
                self.raw_parts.append((tag.end(), found.start()))
                self._raw_end = found.start()
        return tag.end()

    def _comment(self, tag: re.Match[str]) -> int:
        """Remove a comment, or keep it in a raw part. Nothing is read in it."""
        is_raw = tag.start() < self._raw_end
        end_of_part = self._raw_end if is_raw else len(self.source)
        opening = tag["comment"]
        start = tag.start("comment") + 1
        found = self._find_end(opening, _COMMENT_ENDS[opening], start, end_of_part)
        if is_raw:
            return tag.end() if found is None else found.end()
        if found is None:  # The rest of the content may be part of it.
            end = "}}" if opening == "!" else "--}}"
            self._refuse(tag.start(), Rule.FORMAT, _NO_END_OF_COMMENT.format(end=end))
            raise InvalidContent(self.violations)
        self._add_text(tag.start())
        return self._end_tag(found.end())

    def _find_end(
        self, opening: str, end: re.Pattern[str], start: int, limit: int
    ) -> re.Match[str] | None:
        """Return the end of a tag before the limit. A missing one is searched only once."""
        if (opening, limit) in self._unended:
            return None
        found = end.search(self.source, start, limit)
        if found is None:
            self._unended.add((opening, limit))
        return found

    def _open_loop(self, tag: re.Match[str], loop: re.Match[str]) -> int:
        """Read the first tag of a loop over data."""
        items, variable, open_loops = DataPath(loop["items"]), loop["variable"], self._variables()
        if len(open_loops) >= MAX_LOOP_DEPTH:
            message = f"Nest loops at most {MAX_LOOP_DEPTH} levels deep."
            self._refuse(tag.start(), Rule.OUT_OF_RANGE, message)
        elif variable in _NO_VARIABLES or variable in open_loops:
            message = f"`{variable}` has another meaning here. Choose another name."
            self._refuse(tag.start(), Rule.RESERVED, message)
        elif (violation := self._path_violation(items)) is not None:
            self._refuse(tag.start(), violation.rule, violation.message)
        self._add_text(tag.start())
        self.blocks.append(_OpenBlock(tag.start(), tag.start(), loop=(items, variable)))
        return self._end_tag(loop.end())

    def _open(self, tag: re.Match[str]) -> int:
        loop = _LOOP.match(self.source, tag.end()) if tag["open"] == "#each" else None
        is_raw = tag.start() < self._raw_end
        if loop is not None and not is_raw and self._is_data(DataPath(loop["items"])):
            return self._open_loop(tag, loop)
        found = _CONDITION.match(self.source, tag.end()) if tag["open"] == "#if" else None
        if found is None or not self._is_portable(found["condition"]):
            if found is not None and not found["condition"].strip():
                self.lookalikes.append((tag.start(), WarningCode.CONDITION_MISSING))
            if found is None and tag["name"].lower() == "if":
                self._require_no_reference(tag)
            elif tag["name"] in _OTHER_BLOCKS and _REFERENCE_IN_TAG.match(self.source, tag.end()):
                self.lookalikes.append((tag.start(), _OTHER_BLOCKS[tag["name"]]))
            self.blocks[-1].other_tags.append((tag["name"], tag.start()))
            return tag.end()
        self._add_text(tag.start())
        block = _OpenBlock(tag.start(), tag.start())
        self.blocks.append(block)
        block.condition = self._condition(tag.start(), found)
        return self._end_tag(found.end())

    def _is_portable(self, condition: str) -> bool:
        """Return whether this is a condition on a field or data, and not one of an ESP."""
        found = {match[0] for match in _PREFIX.finditer(condition)}
        if _PREFIX_TEXT in found:
            return True
        paths = (each for each in found if each[0] not in "\"'")
        if not any(path == LOOP or self._is_data(DataPath(path)) for path in paths):
            return False
        if _OPERATOR.search(_TEXTS.sub("", condition)) is not None:
            return True
        with suppress(InvalidCondition):
            parse_condition_on_data(condition, TextPosition(1, 1))
            return True
        return False

    def _require_no_reference(self, tag: re.Match[str]) -> None:
        """Refuse the tag of a block if it has a reference, so that it can't be another language."""
        if _REFERENCE_IN_TAG.match(self.source, tag.end()) is None:
            return
        if tag["open"] == "#if":
            self._refuse_unended(tag)
        else:
            self._refuse(tag.start(), Rule.FORMAT, _CAPITALS_IN_IF)

    def _refuse_unended(self, tag: re.Match[str]) -> None:
        """Refuse the quote or the brace that is missing in a tag without an end."""
        found = _UNENDED.match(self.source, tag.end())
        if found is None:
            self._refuse(tag.start(), Rule.FORMAT, _NO_END_OF_CONDITION)
        else:
            message = _ONE_BRACE if found["quote"] is None else _NO_END_OF_TEXT
            self._refuse(found.end() - 1, Rule.FORMAT, message)

    def _else(self, tag: re.Match[str]) -> int:
        block = self.blocks[-1]
        if block.other_tags:
            return tag.end()
        if len(self.blocks) == 1:
            self._refuse_without_block(tag.start())
            return tag.end()
        else_if = _ELSE_IF.match(self.source, tag.end())
        if else_if is not None and block.loop is not None:
            self._refuse(tag.start(), Rule.FORMAT, "A loop has only `{{else}}`.")
            return tag.end()
        found = (_CONDITION if else_if else _END).match(self.source, (else_if or tag).end())
        has_condition = else_if is None or (found is not None and found["condition"].strip())
        if found is None or not has_condition or tag["else"] != "else":
            is_else_if = else_if is not None or tag["else"].lower().endswith("if")
            message = _EXPECTED_ELSE_IF if is_else_if else _EXPECTED_ELSE
            self._refuse(tag.start(), Rule.FORMAT, message)
            return tag.end()
        if block.has_else:
            self._refuse(tag.start(), Rule.FORMAT, "`{{else}}` must be the last part of a block.")
        self._add_text(tag.start())
        block.end_branch()
        block.branch_start, block.has_else = tag.start(), else_if is None
        block.condition = self._condition(tag.start(), found) if else_if else None
        return self._end_tag(found.end())

    def _close(self, tag: re.Match[str]) -> int:
        block, is_outermost = self.blocks[-1], len(self.blocks) == 1
        if block.other_tags and block.other_tags[-1][0].lower() == tag["close"].lower():
            block.other_tags.pop()
        elif not is_outermost and not block.other_tags and tag["close"].lower() == block.name:
            if tag["close"] != block.name:
                message = _CAPITALS_IN_END.format(name=block.name)
                self._refuse(tag.start(), Rule.FORMAT, message)
            self._add_text(tag.start())
            self._end_block(tag.start())
            return self._end_tag(tag.end())
        elif not is_outermost or (block.other_tags and tag["close"] == "if"):
            name, start = block.other_tags[-1] if block.other_tags else (block.name, block.start)
            place = self.lines.position(start)
            message = f"Close `{{{{#{name}` of line {place.line}, column {place.column} first."
            self._refuse(tag.start(), Rule.FORMAT, message)
        elif tag["close"] == "if":
            self._refuse_without_block(tag.start())
        return tag.end()

    def _refuse_without_block(self, offset: int) -> None:
        """Refuse a tag that belongs to no block, or the tag that should begin the block."""
        start = max(self._end, offset - _MAX_DISTANCE)
        opening = _MISSPELLED_IF.search(self.source, start, offset)
        if opening is None:
            self._refuse(offset, Rule.FORMAT, _NO_BLOCK)
        elif opening.start() not in self._misspelled:
            self._misspelled.add(opening.start())
            self._refuse(opening.start(), Rule.FORMAT, _EXPECTED_IF)

    def _end_block(self, end: int) -> None:
        """End the innermost block. One that is nested too deep becomes the nodes of its branches.

        So the tree never exceeds the recursion limit of Python.
        """
        block = self.blocks.pop()
        block.end_branch()
        outer = self.blocks[-1].nodes
        if len(self.blocks) > MAX_BLOCK_DEPTH:
            outer += (node for branch in block.branches for node in branch.nodes)
        else:
            outer.append(block.build(end))

    def _condition(self, start: int, found: re.Match[str]) -> Condition | None:
        self._conditions += 1
        if self._conditions > MAX_CONDITIONS:
            message = f"Content has at most {MAX_CONDITIONS:,} conditions."
            self._refuse(start, Rule.TOO_MANY_ITEMS, message)
            raise InvalidContent(self.violations)
        if len(self.blocks) - 1 > MAX_BLOCK_DEPTH:
            message = f"Nest blocks at most {MAX_BLOCK_DEPTH} levels deep."
            self._refuse(start, Rule.OUT_OF_RANGE, message)
            return None
        if len(found["condition"]) > _MAX_CONDITION_LENGTH:
            message = f"A condition has at most {_MAX_CONDITION_LENGTH:,} characters."
            self._refuse(start, Rule.TOO_LONG, message)
            return None
        position = self.lines.position(found.start())
        try:
            source = _LOOP_TEST.sub(_write_test, _PREFIX.sub(_blank, found["condition"]))
            condition = parse_condition_on_data(source, position)
            if self._variables():
                condition = replace_comparisons(condition, self._data)
        except InvalidCondition as invalid:
            text = next(
                (each for each in _TEXTS.finditer(found["condition"]) if "}}" in each[0]), None
            )
            path = find_system_path(found["condition"])
            if text is not None:  # The text ends at a quote after the tag.
                self._refuse(found.start() + text.start(), Rule.FORMAT, _NO_END_OF_TEXT)
            elif path is not None:
                message = describe_system_path(path["path"])
                self._refuse(found.start() + path.start("path"), Rule.NOT_APPLICABLE, message)
            else:
                self.violations += located_violations(invalid)
            self._read_keys(found)
            return None
        paths = {each for each in condition_keys(condition) if isinstance(each, DataPath)}
        violations = {each: self._path_violation(each) for each in paths}
        for comparison in comparisons(condition):
            offset, key = self.lines.offset(comparison), comparison.key
            if isinstance(key, DataPath):
                violation = violations[key]
                is_test = key.root == LOOP and not self.source.startswith(key, offset)
                if is_test and not self._variables():
                    self._refuse(offset, Rule.NOT_APPLICABLE, _TEST_OUTSIDE)
                elif violation is not None and not is_test:
                    self._refuse(offset, violation.rule, violation.message)
            elif not self.source.endswith(_PREFIX_TEXT, 0, offset):
                self._refuse(offset, Rule.FORMAT, f"Write `recipient.{key}`.")
        return condition

    def _data(self, comparison: Comparison) -> Comparison:
        """Return the comparison with the variable of a loop as a path."""
        key = comparison.key
        if isinstance(key, DataPath) or key not in self._variables():
            return comparison
        has_prefix = self.source.endswith(_PREFIX_TEXT, 0, self.lines.offset(comparison))
        return comparison if has_prefix else evolve(comparison, key=DataPath(key))

    def _read_keys(self, found: re.Match[str]) -> None:
        """Add the keys of an invalid condition as references, so that unknown ones are reported."""
        for match in _PREFIX.finditer(found["condition"]):
            if match["key"]:
                start = found.start() + match.start("key")
                self.blocks[-1].nodes.append(Reference(key=match["key"], start=start))

    def _add_text(self, end: int) -> None:
        """Add the text between the last tag and this offset. `~` at them removes white space."""
        text = self.source[self._end : end]
        self.masked.append(text)
        start = self._end
        if self.source.endswith("~}}", 0, start):
            text = text.lstrip()
            start = end - len(text)
        if self.source.startswith("{{~", end):
            text = text.rstrip()
        if text:
            self.blocks[-1].nodes.append(Text(text, start))
        self._end = end

    def _end_tag(self, end: int) -> int:
        self.masked.append(" " * (end - self._end))
        self._end = end
        return end

    def _refuse(self, offset: int, rule: Rule, message: str, suggestion: str | None = None) -> None:
        self.violations.append(self.lines.violation(offset, rule, message, suggestion))
        if len(self.violations) >= MAX_VIOLATIONS:
            raise InvalidContent(self.violations)


def located_violations(invalid: InvalidCondition) -> list[LocatedViolation]:
    """Return the violations of a condition that was parsed from text."""
    return [each for each in invalid.violations if isinstance(each, LocatedViolation)]


def _write_test(match: re.Match[str]) -> str:
    """Return a test of a loop as a path, with the length that it had."""
    if match["test"] is None:
        return match[0]
    negation = "" if match["not"] is None else "not "
    path = f"{negation}{LOOP}.{match['test']}"
    return path + match[0][len(path) :].translate(_BLANKS)


_BLANKS = dict.fromkeys(map(ord, "abcdefghijklmnopqrstuvwxyz"), " ")


def _blank(match: re.Match[str]) -> str:
    """Return spaces instead of the prefix, so that the rest keeps its position."""
    return " " * len(_PREFIX_TEXT) if match[0] == _PREFIX_TEXT else match[0]
