"""Templates as content: each tag of a template becomes code of content, or stays as it is."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections import ChainMap
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import cache, cached_property
from html import escape
from itertools import chain, repeat, zip_longest
from operator import itemgetter
from typing import TypeAlias

from attrs import define, evolve, field, frozen

from ...content.html import Html, Kind
from ...content.syntax import MAX_CONDITIONS, MAX_LOOP_DEPTH
from ...content.system_values import SystemValue
from ...content.tree import Lines
from ..errors import NotExpressible
from ..languages.blocks import Tag
from ..languages.conditions import Presence
from ..languages.paths import write_liquid
from ..languages.tree import (
    Assignment,
    Branch,
    Call,
    Comment,
    Condition,
    Expression,
    Filter,
    Filtered,
    Literal,
    Loop,
    Node,
    Opaque,
    Operation,
    Output,
    Path,
    Raw,
    Text,
    Unread,
    find_closing,
    list_tags,
    walk,
)
from ..profiles.profile import EventData, Profile, Syntax, SystemCode
from ..recognition.words import TagRole, Words
from .code import find_literal, has_code, read_tree
from .conditions import Conditions
from .copies import READS_FIELD, STATE, Copies, write_reference
from .outcomes import ByHand, Outcome, enclose
from .source_fields import OTHER_ROLES, LoopItem, SourceFields
from .values import RAW_HTML, UNCHANGED, Values, has_default_tag, quoted

_DEPTH = (
    f"Content has at most {MAX_LOOP_DEPTH} loops in each other. Write this one for the other ESP."
)
_LOOP = "Content has loops over whole lists, with one variable. Write this loop for the other ESP."
_OTHER_TAG = "`{name}` is a tag of {title} that content lacks. Remove it, or write the other ESP's."
_SECTION = (
    "`{tag}` shows its text for each item of a list, or for a value that is set. Write this block"
    " with `#each` or `#if`."
)
_LINES = "This tag contains a tag in each line. Write each line as a tag of its own first."
_WITH = "Content reads no names in an object. Write whole paths without this block, as in `a.b`."
_VARIABLE = "This reads the variable `{name}`, whose value is by hand."
_MEANING = "{reason} Or give its field in a file of names, as in `{name}: KEY`."
_LOCAL = "This reads the variable `{name}`, and content has none. Write it for the other ESP."
_STAYING = (
    "Other tags read the variable `{name}`, and its value can't be copied. Write this tag for the"
    " other ESP."
)
_IN_ITEM = "The other ESP would read the tag for `{name}` in the item of the loop. Move it out."
_GIVE = "Or give `{name}` with the option `values`."
_LINK_IN_TEXT = (
    "No source establishes how {title} shows this link in plain text. Write its address, `{code}`."
)
_TEXT_OF_LINK = "{title} chooses the look of this link, and its text if the tag has none."


MAX_PARTS = 500
"""The parts of an expression, with those of its variables. A condition has 200 comparisons."""
MAX_CHOICE = 50
"""The parts of a value that depends on conditions: each tag that shows it repeats them."""
_CODE = re.compile(r"[{}%|*\[\]\\]")
_TEXT_OF_VARIABLE = "The text of this variable can be code. Write it where it is shown."
_LITERAL = "The text in this tag would be read as code. Write it in another way."
_READ_BY_HAND = "The tag in line {line}, which is by hand, reads the variable `{name}`."
_BROKEN = "A tag of a block is missing or is not read: the block can contain this assignment."
_EFFECT = "This does more than set a variable. Write it for the other ESP."
_SETS_BY_HAND = "This block sets a variable by hand. Write the block for the other ESP."
_TOO_MANY = f"Content has at most {MAX_CONDITIONS:,} conditions. Convert parts of the template."
_PLAIN = re.compile(r"[\w ,.;:!?()'+-]{1,100}")
"""A text that is a default in each language."""
_NAME = re.compile(r"[A-Za-z_][\w:.]*")
"""The name in a code of a system value."""
_WORD = re.compile(r"[\w@]+")

_Variables: TypeAlias = ChainMap[str, Expression | None]
"""The values of variables, by their names: None is one that is by hand.

Each branch of a block has a map of its own. The variable of a loop has a name without a second one.
"""
_ReadSystemCode: TypeAlias = tuple[SystemValue, str | None, bool]
"""The value of a code, a caveat about it, and whether the ESP's usual code has this caveat, too."""
_NEVER_EMPTY = {"lower", "title", "upper", "url"}
"""Filters that show a text for each value that is set."""
_TRUE, _FALSE = Literal(value=True), Literal(value=False)
_STAYS = Call("")
"""The value of a variable that content does not have. Code of the ESP can read the variable."""


@frozen
class Piece:
    """A part of the content. `owner` is the offset of the tag or block of the source, or None.

    `start` and `end` are its offsets in the source. `is_kept` is whether the text stays as it is.
    `line` is the line at which it begins, if it is a block or a part of a tag, and `closing` ends
    the tag after it.
    """

    text: str
    start: int
    owner: int | None
    is_kept: bool = False
    line: int | None = None
    end: int = 0
    closing: str = ""

    @property
    def marked_text(self) -> str:
        """The text, between marks if it is a block or a part of a tag."""
        text = f"{self.text.rstrip()}{self.closing}" if self.closing else self.text
        return text if self.line is None else enclose(text, self.line)


@frozen
class Result:
    """What happens to a tag of the source, and why."""

    outcome: Outcome
    reasons: tuple[str, ...] = ()


DROPPED = Result(Outcome.DROPPED)


@frozen
class _Assigned:
    """An assignment: its tag, the variable as the tag writes it, and its value."""

    node: Node
    name: str
    value: Expression | None


@define(kw_only=True)
class Reader:
    """Reads one template. `profile` is that of the source. `target` is None for content.

    `refused` are the tags that are by hand, by their offsets, and why.
    `texts` are places outside of tags that stay as they are, or are dropped, in order. The source
    does not show those without a result.

    `given` are the codes of links, the sender and the year that are given. `parts` are the tags
    with several statements, by the offset of each but the first. `is_broken` is whether a tag is
    missing for a block: any assignment can then be in it.
    """

    text: str
    lines: Lines
    profile: Profile
    target: Profile | None
    values: Values
    exact: bool
    is_html: bool
    html: Html
    given: Mapping[SystemValue, str]
    refused: Mapping[int, str] = field(factory=dict)
    texts: Sequence[tuple[int, int, Result | None]] = ()
    parts: Mapping[int, Tag] = field(factory=dict)
    is_broken: bool = False
    copied: Collection[str] = ()
    """The names of variables that stay variables, which an earlier reading has found."""
    _wanted: set[str] = field(init=False, factory=set)
    """The names of variables that tags read which are copied, or by hand."""
    _sources: dict[str, set[str]] = field(init=False, factory=dict)
    """The words in the assignments to each variable."""
    pieces: list[Piece] = field(init=False, factory=list)
    results: dict[int, Result] = field(init=False, factory=dict)
    """By the offset of the tag."""
    poisoned: dict[int, str] = field(init=False, factory=dict)
    """The assignments to variables that tags which are by hand read, and why these must stay."""
    poisoning: dict[int, str] = field(init=False, factory=dict)
    """The tags that are by hand and read such variables, and why these are by hand."""
    kept_variables: dict[int, str] = field(init=False, factory=dict)
    """The names that assignments give which stay, by their offsets."""
    _copies: Copies | None = field(init=False)
    _tests: int = field(init=False, default=0)
    _fold: Callable[[str], str] = field(init=False)
    """Returns the names of variables that the language finds equal as one name."""
    _variables: _Variables = field(init=False, factory=ChainMap)
    _assigned: dict[str, list[_Assigned]] = field(init=False, factory=dict)
    """The assignments by the names of their variables."""
    _lacking: dict[int, tuple[Expression, str | None]] = field(init=False, factory=dict)
    """Values of variables, by their identities, and why content lacks them."""
    _fields: SourceFields = field(init=False)
    _conditions: Conditions = field(init=False)

    _blank: dict[int, bool] = field(init=False, factory=dict)
    """Whether the blocks at these offsets show nothing."""
    _trim_before: tuple[str, str] = field(init=False)
    """How the tags of the language begin that remove the white space before them."""
    _trim_after: tuple[str, str] = field(init=False)
    _removes_white_space: bool = field(init=False)
    """Whether a tag can remove the white space around it."""

    def __attrs_post_init__(self) -> None:
        mark = "~" if self.profile.vocabulary.syntax is Syntax.HANDLEBARS else "-"
        self._trim_before = (f"{{%{mark}", f"{{{{{mark}")
        self._trim_after = (f"{mark}%}}", f"{mark}}}}}")
        trimming = self._trim_before + self._trim_after
        self._removes_white_space = any(each in self.text for each in trimming)
        self._fold = self.profile.vocabulary.fold
        self._fields = self.values.fields
        self._copies = Copies.between(self.profile, self.target)
        forms = () if self.target is None else self.target.conditions.presences
        self._conditions = Conditions(self.values, self.exact, forms)

    @property
    def presences(self) -> Mapping[str, Presence]:
        """The tests of the target whether a value is set, by the keys for which they differ."""
        return {key: each for key, each in self._conditions.presences.items() if each.tests}

    @property
    def to_copy(self) -> Collection[str]:
        """The names of variables that must stay variables, and of those in their values."""
        found, rest = set(self._wanted), [*self._wanted]
        while rest:
            new = {each for each in self._sources.get(rest.pop(), ()) if each in self._sources}
            rest += new - found
            found |= new
        return found

    def read(self, nodes: Iterable[Node]) -> None:
        """Add the pieces of the nodes."""
        for node in nodes:
            if isinstance(node, Text):
                self._text(node)
                continue
            try:
                self._read(node)
            except ByHand as reason:
                self._keep(node, str(reason))

    def add_caveat(self, start: int, caveat: str) -> None:
        """Add a caveat to the result of the tag at this offset."""
        reasons = dict.fromkeys((*self.results[start].reasons, caveat))
        self.results[start] = Result(Outcome.CAVEAT, tuple(reasons))

    def find_blocks_to_keep(self, nodes: Iterable[Node]) -> Iterator[tuple[int, str]]:
        """Yield the offsets of converted blocks around assignments that stay, and why they stay.

        A block that only sets variables shows nothing: converted, it would not be there at all.
        """
        kept = sorted({*self.kept_variables, *self.poisoned})
        for node in walk(nodes):
            if isinstance(node, Condition | Loop) and node.start in self.results:
                is_converted = self.results[node.start].outcome not in {
                    Outcome.BY_HAND,
                    Outcome.DROPPED,
                }
                if is_converted and bisect_left(kept, node.start) < bisect_left(kept, node.end):
                    yield node.start, _SETS_BY_HAND

    def _text(self, node: Text) -> None:
        """Add the text. What the target would read as code is kept, or dropped."""
        offset = node.start
        index = bisect_left(self.texts, node.start, key=itemgetter(0))
        last = bisect_left(self.texts, node.end, key=itemgetter(0))
        for start, end, result in self.texts[index:last]:
            self._add(self.text[offset:start], offset)
            if result is not None:
                if result.outcome is Outcome.BY_HAND:
                    self.pieces.append(Piece(self.text[start:end], start, start, is_kept=True))
                self.results[start] = result
            offset = end
        self._add(self.text[offset : node.end], offset)

    def _read(self, node: Node) -> None:
        """Convert the node. Raises: ByHand."""
        code = ""
        caveats: Sequence[str] = ()
        match node:  # A variable has its value also if its tag stays because another one reads it.
            case Assignment():
                code, caveats = self._assignment(node)
            case Opaque(name="VAR", arguments=names):
                for each in names:
                    if isinstance(each, Path):
                        self._assign(node, str(each.parts[0]), Literal(""))
        if node.start in self.refused:
            raise ByHand(self.refused[node.start])
        match node:
            case Condition():
                self._condition(node)
            case Assignment() | Opaque(name="VAR"):
                self._convert(node, code, caveats)
            case Comment():
                self._comment(node)
            case Raw():
                self._raw(node)
            case Loop():
                self._loop(node)
            case Unread():
                raise ByHand(f"{self.profile.title} does not read this tag. {node.reason}")
            case Opaque(name="", arguments=(Path((str() as name,)),), nodes=(*_,)) if (
                name in self.profile.vocabulary.tags
            ):
                raise ByHand(_OTHER_TAG.format(name=name, title=self.profile.title))
            case Opaque(name="", start=start, nodes=(*_,)):
                tag = self.text[start : self.text.index("}}", start) + 2]
                raise ByHand(_SECTION.format(tag=tag))
            case Opaque(name="liquid"):
                raise ByHand(_LINES)
            case Opaque(name="with") if self.profile.vocabulary.syntax is Syntax.HANDLEBARS:
                raise ByHand(_WITH)
            case Opaque(branches=(first, *others)):
                test = Call(node.name, node.arguments, node.named)
                self._condition(
                    Condition(node.start, node.end, (evolve(first, test=test), *others))
                )
            case Output() | Opaque():
                self._output(node)

    def _output(self, node: Output | Opaque) -> None:
        shown = _without_place(self.profile, node)
        around = _dropped(self.profile).get(shown, ())
        if any(
            self.text.endswith(before, 0, node.start) and self.text.startswith(after, node.end)
            for before, after in around
        ):
            self._convert(node, "", ())
            self.results[node.start] = DROPPED
            return
        system, caveat, is_shared = self._system_codes.get(shown, (None, None, False))
        if system is not None and not self._fields.hides_names:
            self._show_system(node, system)
            if caveat is not None and not (is_shared and self.target == self.profile):
                self.add_caveat(node.start, caveat)
        elif isinstance(node, Output):
            try:
                code, caveats = self._shown(self._resolve(node.value))
            except ByHand as reason:
                if isinstance(node.value, Path) and not self._is_variable(str(node.value.parts[0])):
                    raise  # A field has no other code.
                copy, caveats = self._copy(node, node.value, reason, is_shown=True)
                code = f"{{{{ {copy} }}}}"
            if node.is_raw and self.is_html:
                caveats = (*caveats, RAW_HTML.format(title=self.profile.title))
            self._convert(node, code, tuple(dict.fromkeys(caveats)))
            for start in node.others:
                self._note(start, ())
        else:
            self._opaque(node)

    @cached_property
    def _system_codes(self) -> Mapping[Expression | Node, _ReadSystemCode]:
        """The codes of system values. A link beside one to unsubscribe from all is to preferences.

        HubSpot has one link for both.
        """
        first = SystemValue.PREFERENCES if self._fields.is_beside_all else None
        return _system_codes(self.profile, first)

    def _shown(self, value: Expression) -> tuple[str, Sequence[str]]:
        """Return the code of content that shows the value, and its caveats. Raises: ByHand."""
        try:
            return self.values.reference(value)
        except ByHand:
            match value:
                case Filtered(Operation("choice", operands), filters):
                    *tests, last = operands[::2]
                    values = [*operands[1::2], last]
                    return self._choice(tests, [Filtered(each, filters) for each in values])
                case Operation("choice", operands):
                    *tests, last = operands[::2]
                    return self._choice(tests, [*operands[1::2], last])
                case Call(name, (test, then, otherwise)) if name.lower() == "iif":
                    return self._choice([test], [then, otherwise])
                case Call(name, (inner,)) if name.lower() in UNCHANGED:
                    return self._shown(inner)
                case Call(name, parts) if name.lower() == "concat":
                    return self._joined(parts)
                case Operation("~", parts):
                    return self._joined(parts)
                case Filtered(inner, (*others, Filter("append" | "prepend" as name, (part,)))):
                    before = Filtered(inner, tuple(others)) if others else inner
                    return self._joined((before, part) if name == "append" else (part, before))
                case Literal(str() | int() as text) if not isinstance(text, bool):
                    if _CODE.search(str(text)) is not None:
                        raise ByHand(_TEXT_OF_VARIABLE) from None
                    return str(text), ()
                case Filtered() | Call():
                    fixed = self.values.find_fixed(value)
                    if fixed is not None:
                        return self._shown(fixed)
            raise

    def _joined(self, parts: Sequence[Expression]) -> tuple[str, Sequence[str]]:
        """Return code that shows the values beside each other, and its caveats."""
        shown = [self._shown(each) for each in parts]
        caveats = [caveat for _, found in shown for caveat in found]
        return "".join(code for code, _ in shown), caveats

    def _choice(
        self, tests: Sequence[Expression], values: Sequence[Expression]
    ) -> tuple[str, Sequence[str]]:
        """Return a default or a block that shows the first value whose test holds, or the last."""
        self._tests += len(tests)
        if self._tests > MAX_CONDITIONS:
            raise ByHand(_TOO_MANY)
        read = [self._conditions.read(each) for each in tests]
        shown = [self._shown(each) for each in values]
        caveats = [caveat for _, found in (*read, *shown) for caveat in found]
        codes = [code for code, _ in shown]
        default = _as_default(read[0][0], *codes) if len(read) == 1 else None
        if default is not None:
            return default, caveats
        words = chain(["#if "], repeat("else if "))
        parts = [
            f"{{{{{word}{test}}}}}{code}"
            for word, (test, _), code in zip(words, read, codes, strict=False)
        ]
        return f"{''.join(parts)}{{{{else}}}}{codes[-1]}{{{{/if}}}}", caveats

    def _show_system(
        self,
        node: Node,
        system: SystemValue,
        before: str = "",
        after: str = "",
        caveats: Sequence[str] = (),
    ) -> None:
        """Write what is given, or code of content, between texts. Raises: ByHand without both."""
        given = self.given.get(system)
        if given is not None:
            events = None if self.target is None else self.target.events
            form = events.loop if isinstance(events, EventData) else None
            if self._fields.loops and form is not None and form.root and "{{" in given:
                raise ByHand(_IN_ITEM.format(name=system.value))
            self._insert(node, given, before, after, caveats)
            return
        code = None if self.target is None else self.target.find_system_code(system)
        if self.target is not None and isinstance(code, str):
            advice = self.target.with_own_link(code)
            raise ByHand(f"{advice} {_GIVE.format(name=system.value)}")
        self._convert(node, f"{before}{system}{after}", caveats)

    def _opaque(self, node: Opaque) -> None:
        """Convert a tag that shows a whole link, with its text. Attributes contain the address."""
        name, title = node.name, self.profile.title
        if name in self.profile.vocabulary.tags_with_text:
            for system, code in self.profile.system_codes.items():
                if isinstance(code, SystemCode) and name in code.also:
                    if not self.is_html:
                        raise ByHand(_LINK_IN_TEXT.format(title=title, code=code.code))
                    text = name.replace("_", " ").capitalize()
                    match node.arguments:
                        case (Literal(str() as written), *_):
                            text = written
                    is_text = self.html.at(node.start).kind is Kind.TEXT
                    if is_text and ("{{" in text or has_code(self.target or self.profile, text)):
                        raise ByHand(_LITERAL)
                    around = ('<a href="', f'">{escape(text)}</a>') if is_text else ("", "")
                    self._show_system(node, system, *around, (_TEXT_OF_LINK.format(title=title),))
                    return
        if name in self.profile.vocabulary.system_tags:
            raise ByHand(OTHER_ROLES[TagRole.SYSTEM].format(name=name, title=title))
        raise ByHand(_OTHER_TAG.format(name=name, title=title))

    def _comment(self, node: Comment) -> None:
        """Keep a comment without tags that the target reads as one, too. Remove another one.

        Those of Handlebars can be in a line that is not shown, or after an escape.
        """
        text = self.text[node.start : node.end]
        can_stay = self.profile.vocabulary.syntax is not Syntax.HANDLEBARS and text.count("{") <= 2
        tree = read_tree(self.target, text) if self.target is not None and can_stay else ()
        if [*map(type, tree)] == [Comment]:
            self._insert(node, text)
        else:
            self._convert(node, "", ())

    def _raw(self, node: Raw) -> None:
        """Write text that is not read as code so that the target does not read it, either."""
        text = self.text[node.text_start : node.text_end]
        if "{{" not in text and not has_code(self.target or self.profile, text):
            self._convert(node, text, ())
            return
        literal = (
            None
            if self.target is None
            else find_literal(self.target, text, self.text[node.start - 1 : node.start])
        )
        if literal is None:
            raise ByHand(_LITERAL)
        self._insert(node, literal)

    def _assignment(self, node: Assignment) -> tuple[str, Sequence[str]]:
        """Remember the value of a variable, which replaces the variable.

        Return the code of the tag if it is copied, and its caveats. Raises: ByHand.
        """
        words = _WORD.findall(self.text, node.start, node.end)
        self._sources.setdefault(node.name, set()).update(words)
        try:
            value, code, caveats = self._read_assignment(node)
        except ByHand:
            for name in self._list_set(node):
                self._assign(node, name, None)
            raise
        self._assign(node, node.name, value)
        return code, caveats

    def _read_assignment(self, node: Assignment) -> tuple[Expression, str, Sequence[str]]:
        if isinstance(node.value, tuple):
            raise ByHand("This gives a text to a variable. Write the text where it is shown.")
        if self.is_broken:
            raise ByHand(_BROKEN)
        if self._has_effect(node.value) or self._list_set(node) != {node.name}:
            raise ByHand(_EFFECT)
        reason = ByHand(_STAYING.format(name=node.name))
        is_given = self._fields.is_given_variable(node.name)
        if node.name not in self.copied:
            try:
                value = self._resolve(node.value)
                if not is_given or self._explain(value) is None:
                    return value, "", ()
            except ByHand as found:
                reason = found
        if is_given:
            return Path((node.name,)), "", ()
        copy, caveats = self._copy(node, node.value, reason)
        self._wanted.add(node.name)
        return _STAYS, f"{{% assign {node.name} = {copy} %}}", caveats

    def _assign(self, node: Node, name: str, value: Expression | None) -> None:
        self._assigned.setdefault(self._fold(name), []).append(_Assigned(node, name, value))
        self._variables[self._fold(name)] = value

    def _list_set(self, node: Node) -> set[str]:
        """Return the names that the tag, or the tags of the block, give to values."""
        found: set[str] = set()
        for each in walk([node]):
            if isinstance(each, Assignment) or (isinstance(each, Opaque) and each.nodes is None):
                tag = Tag(each.start, each.end, (each,))
                found |= Words.of(tag, self.profile.vocabulary).sets
        return found

    def _has_effect(self, value: Expression) -> bool:
        """Return whether a function in the expression does more than return a value."""
        calls = (each for each in _parts(value) if isinstance(each, Call))
        return any(each.name.lower() in self.profile.vocabulary.effects for each in calls)

    def _copy(
        self, tag: Node | Branch, value: Expression, reason: ByHand, *, is_shown: bool = False
    ) -> tuple[str, Sequence[str]]:
        """Return the code of a value that content lacks, and its caveats.

        Both ESPs have this code, with other names. Raises: the reason, if they don't.
        """
        if self._copies is None:
            raise reason
        quote = '"' if '"' in self.text[tag.start : tag.end] else "'"
        try:
            code = self._copies.write(value, quote, self._copied_path)
        except (ByHand, NotExpressible):
            raise reason from None
        caveats = self._copies.find_caveats(value, code, is_shown=is_shown, is_html=self.is_html)
        return code, tuple(caveats)

    def _copied_path(self, path: Path) -> str:
        """Return a variable, or the expression of a field. Raises: ByHand, NotExpressible."""
        match path.parts:
            case ("forloop", str() as member) if self._is_variable(STATE):
                return f"{STATE}.{member}"
            case (str() as name, *members) if self._is_variable(name):
                if self._variables[name] is None:
                    raise ByHand(_VARIABLE.format(name=name))
                self._wanted.add(name)
                return write_liquid(name, [_as_member(each) for each in members])
        source = self._fields.find(self._substitute(path))
        if source is None:
            raise ByHand(_VARIABLE)
        return write_reference(source.reference)

    def _is_variable(self, name: str) -> bool:
        """Return whether this is a variable, and not that of a loop."""
        if name not in self._variables:
            return False
        items = [Path((each,)) for item in self._fields.loops for each in item.names]
        return self._variables[name] not in items

    def _resolve(self, value: Expression) -> Expression:
        """Return the expression with the values of its variables. Raises: ByHand."""
        resolved = self._substitute(value)
        if _exceeds(resolved, MAX_PARTS):
            raise ByHand("The values of the variables in this tag are too long. Use fewer of them.")
        return resolved

    def _substitute(self, value: Expression) -> Expression:
        match value:
            case Path((str() as name, *members)) if self._fold(name) in self._variables:
                found = self._variables[self._fold(name)]
                if found not in {None, _STAYS} and not members:
                    return found
                if isinstance(found, Path):
                    return Path((*found.parts, *members))
                raise ByHand((_VARIABLE if found is None else _LOCAL).format(name=name))
            case Path(("@", "root", str() as name, *_) | ("..", *_, str() as name)) if (
                self._variables.get(self._fold(name), value) is None
            ):
                raise ByHand(_VARIABLE.format(name=name))
            case Filtered(inner, filters):
                resolved = self._substitute(inner)
                if isinstance(resolved, Filtered):
                    return Filtered(resolved.value, (*resolved.filters, *filters))
                return Filtered(resolved, filters)
            case Operation(name, operands):
                return Operation(name, tuple(map(self._substitute, operands)))
            case Call(name, arguments):
                return evolve(value, arguments=tuple(map(self._substitute, arguments)))
        return value

    def _condition(self, node: Condition) -> None:
        """Convert a block. Its tests are read first: without one of them, the block stays."""
        if [each.test for each in node.branches] in _dropped_tests(self.profile):
            (branch,) = node.branches
            self.results[branch.start] = self.results[find_closing(node)] = DROPPED
            self.read(branch.nodes)
            return
        loop = self._find_guarded(node)
        if loop is not None:
            self._loop(loop)
            self._note(node.start, ())
            for each in (node, *node.branches[0].nodes):
                if isinstance(each, Condition | Loop):
                    self._note(find_closing(each), ())
            return
        default = self._find_default(node)
        if default is not None:
            self._convert(node, *default)
            for each in walk([node]):
                others = each.others if isinstance(each, Output) else ()
                for start in {*list_tags(each), *others} - {node.start}:
                    self._note(start, ())
            return
        self._tests += sum(each.test is not None for each in node.branches)
        if self._tests > MAX_CONDITIONS:
            raise ByHand(_TOO_MANY)
        tests = [each.test for each in node.branches]
        try:
            tests = [None if each is None else self._resolve(each) for each in tests]
            read = [None if each is None else self._conditions.read(each) for each in tests]
        except ByHand as reason:
            self._copy_block(node, reason)
            return
        if node.branches[0].start != node.start:  # The first tag has no branch: `case`.
            self._note(node.start, ())
        words = chain(["#if "], repeat("else if "))
        tags = [
            ("else", ()) if found is None else (word + found[0], found[1])
            for word, found in zip(words, read, strict=False)
        ]
        after = self._branches(node, tags, "/if")
        self._variables.update(self._merge(tests, after))

    def _copy_block(self, node: Condition, reason: ByHand) -> None:
        """Copy the tags of a block, and convert what is in it. Raises as `_copy` does."""
        tags: list[tuple[str, Sequence[str]]] = []
        word, closing = "if", "endif"
        for branch in node.branches:
            match branch.test:
                case None:
                    tags.append(("else", ()))
                    continue
                case Operation("not", (test,)) if word == "if":
                    word, closing = "unless", "endunless"
                case test:
                    pass
            copy, caveats = self._copy(branch, test, reason)
            if caveats and self.exact:
                raise reason
            tags.append((f"{word} {copy}", caveats))
            word = "elsif"
        if node.branches[0].start != node.start:  # The first tag has no branch: `case`.
            self._note(node.start, ())
        after = self._branches(node, tags, closing, is_copied=True)
        merged = self._merge([each.test for each in node.branches], after)
        self._variables.update({name: value and _STAYS for name, value in merged.items()})

    @property
    def _unset(self) -> Expression | None:
        """The value of a variable that is not set: it can be by hand, because it can be a field."""
        return None if self.profile.vocabulary.any_name else _STAYS

    def _merge(
        self, tests: Sequence[Expression | None], after: Sequence[_Variables]
    ) -> Mapping[str, Expression | None]:
        """Return the variables that a block changes, with values that depend on its tests.

        A variable that is true or false in each case is a condition itself. Any other one that has
        a value in each case is a choice.
        """
        unset = self._unset
        merged: dict[str, Expression | None] = {}
        for name in dict.fromkeys(chain.from_iterable(each.maps[0] for each in after)):
            values = [each.get(name, unset) for each in after]
            if tests[-1] is not None:
                values.append(self._variables.get(name, unset))
            first, *others = values
            if all(each == first for each in others):
                merged[name] = first
            elif all(each in (_TRUE, _FALSE) for each in values):
                condition = _as_condition(tests, values)
                merged[name] = None if _exceeds(condition, MAX_PARTS) else condition
            else:
                merged[name] = _as_choice(tests, values)
        return merged

    def _find_default(self, node: Condition) -> tuple[str, Sequence[str]] | None:
        """Return a value with a default that shows the same as the block, and its caveats."""
        first, *others = node.branches
        if first.test is None or [each.test for each in others] != [None]:
            return None
        match first.nodes, others[0].nodes:
            case ((Output() as shown,), (Text() as otherwise,)) | (
                (Text() as otherwise,),
                (Output() as shown,),
            ) if _PLAIN.fullmatch(self._text_of(otherwise)) and not self._has_trim(node):
                text = self._text_of(otherwise)
                with suppress(ByHand):
                    value = self._resolve(shown.value)
                    code, caveats = self._shown(value)
                    conditions = Conditions(self.values, self.exact, ())
                    test, found = conditions.read(self._resolve(first.test))
                    codes = (code, text) if shown.start < otherwise.start else (text, code)
                    default = _as_default(test, *codes)
                    source = self.values.operand(value)
                    is_block = self.target is not None and not has_default_tag(self.target)
                    if found and is_block:
                        return None  # A block of the target is right for more values.
                    if default is not None and source is not None:
                        self._fields.assume_text(source, text)
                        return default, tuple(dict.fromkeys((*found, *caveats)))
        return None

    def _find_guarded(self, node: Condition) -> Loop | None:
        """Return the loop that shows the same as the block, which only tests whether it has items.

        An empty list is true in Liquid.
        """
        (first, *others), is_liquid = node.branches, self.profile.vocabulary.syntax is Syntax.LIQUID
        match first.nodes:
            case (Loop(items=first.test, branches=(inner,)) as loop,) if not (others and is_liquid):
                if all(each.test is None for each in others):
                    end = node.end if others else loop.end
                    return evolve(loop, start=node.start, end=end, branches=(inner, *others))
        return None

    def _loop(self, node: Loop) -> None:
        """Convert a loop over a list of event data, or copy another one. Raises: ByHand."""
        names = {each: f"{each} {node.start}" for each in node.variables}
        variables: dict[str, Expression | None] = {each: Path((names[each],)) for each in names}
        caveats: Sequence[str] = ()
        try:
            item = self._find_item(node, names)
            opening, closing = f"#each {item.items} as {item.variable}", "/each"
        except ByHand as reason:
            opening, caveats = self._copy_loop(node, reason)
            item, closing = None, "endfor"
            variables = dict.fromkeys((*names, STATE), _STAYS)
        # A round can read what the one before has set, and the code after it what the last one has.
        before = self._variables
        for name in map(self._fold, self._list_set(node)):
            before[name] = _STAYS if name in before else self._unset
        self._variables = before.new_child(variables)
        tags = [(opening, caveats), *[("else", ())] * (len(node.branches) - 1)]
        self._branches(node, tags, closing, item, is_copied=item is None)
        self._variables = before

    def _find_item(self, node: Loop, names: Mapping[str, str]) -> LoopItem:
        """Return the item of a loop that content has. Raises: ByHand."""
        has_test = any(each.test is not None for each in node.branches)
        if node.options or has_test or len(node.variables) > 1:
            raise ByHand(_LOOP)
        if len(self._fields.loops) >= MAX_LOOP_DEPTH:
            raise ByHand(_DEPTH)
        return self._fields.find_item(self._resolve(node.items), names)

    def _copy_loop(self, node: Loop, reason: ByHand) -> tuple[str, Sequence[str]]:
        """Return the opening of a loop over another list, and its caveats. Raises: the reason."""
        items, caveats = self._copy(node, node.items, reason)
        opening = f"for {node.variables[0]} in {items}"
        for name, value in node.options:
            copy = "" if value == _TRUE else f": {self._copy(node, value, reason)[0]}"
            opening += f" {name}{copy}"
        if READS_FIELD in opening:
            raise reason  # The target can have a text instead of a list or a number.
        return opening, caveats

    def _branches(
        self,
        node: Condition | Loop,
        tags: Sequence[tuple[str, Sequence[str]]],
        closing: str,
        item: LoopItem | None = None,
        *,
        is_copied: bool = False,
    ) -> Sequence[_Variables]:
        """Convert the tags and the nodes of a block. Return the variables after each branch.

        The first branch can read the item of a loop. `is_copied` is whether the tags are code of
        the ESPs.
        """
        is_liquid = self.profile.vocabulary.syntax is Syntax.LIQUID
        is_blank = (is_liquid or any(_assignments(node))) and self._is_blank(node)
        is_shown = not is_blank or any(e.name in self.copied for e in _assignments(node))
        before = self._variables
        after: list[_Variables] = []
        for branch, (code, caveats) in zip(node.branches, tags, strict=True):
            is_first = not after
            if not is_shown:  # Ruby's Liquid shows nothing for a block of white space.
                self._note(branch.start, caveats)
                if is_first:
                    self._add_trim(node.start, self._trims(branch.start, branch.end)[0], "")
            else:
                self._convert_tag(
                    node.start, branch.start, branch.end, code, caveats, is_copied=is_copied
                )
            self._variables = before.new_child()
            with self._fields.inside(item if is_first else None):
                self.read(e for e in branch.nodes if not (is_blank and isinstance(e, Text)))
            after.append(self._variables)
        self._variables = before
        last = find_closing(node)
        if not is_shown:
            self._note(last, ())
            self._add_trim(node.start, "", self._trims(last, node.end)[1])
        else:
            self._convert_tag(node.start, last, node.end, closing, (), is_copied=is_copied)
        return after

    def _is_blank(self, block: Condition | Loop) -> bool:
        """Return whether the block shows nothing, or in Liquid only white space."""
        if block.start not in self._blank:
            is_liquid = self.profile.vocabulary.syntax is Syntax.LIQUID
            self._blank[block.start] = all(
                isinstance(each, Comment | Assignment)
                or (is_liquid and isinstance(each, Text) and self._text_of(each).isspace())
                or (is_liquid and isinstance(each, Condition | Loop) and self._is_blank(each))
                for branch in block.branches
                for each in branch.nodes
            )
        return self._blank[block.start]

    def _text_of(self, node: Text) -> str:
        return self.text[node.start : node.end]

    def _convert_tag(
        self,
        owner: int,
        start: int,
        end: int,
        code: str,
        caveats: Sequence[str],
        *,
        is_copied: bool,
    ) -> None:
        """Add a tag of a block."""
        before, after = self._trims(start, end)
        text = f"{{{{{before}{code}{after}}}}}"
        if is_copied:
            text = f"{{%{'-' * len(before)} {code} {'-' * len(after)}%}}"
        self._add(text, start, owner)
        self._note(start, caveats)

    def _convert(self, node: Node, code: str, caveats: Sequence[str]) -> None:
        """Add the code of a tag, between comments if the tag removes the white space around it."""
        before, after = self._trims(node.start, node.end)
        before, after = before and f"{{{{{before}!}}}}", after and f"{{{{!{after}}}}}"
        if not (before or code or after) and self._removes_white_space:
            code = "{{!}}"  # Another tag must not remove the white space on the other side.
        self._add(f"{before}{code}{after}", node.start, node.start)
        self._note(node.start, caveats)

    def _insert(
        self, node: Node, code: str, before: str = "", after: str = "", caveats: Sequence[str] = ()
    ) -> None:
        """Add code of the target instead of a tag, between texts."""
        owner = node.start
        trim_before, trim_after = self._trims(node.start, node.end)
        self._add_trim(owner, trim_before, "")
        self._add(before, owner, owner)
        self.pieces.append(Piece(code, owner, owner, is_kept=True))
        self._add(after, owner, owner)
        self._add_trim(owner, "", trim_after)
        self._note(owner, caveats)

    def _add_trim(self, owner: int, before: str, after: str) -> None:
        """Add a comment that removes white space before or after it, if a tag did."""
        if self._removes_white_space:
            self._add(f"{{{{{before}!{after}}}}}", owner, owner)

    def _trims(self, start: int, end: int) -> tuple[str, str]:
        """Return the marks that remove white space before and after a tag, if it has them."""
        before = self.text.startswith(self._trim_before, start, end)
        return "~" * before, "~" * self.text.endswith(self._trim_after, start, end)

    def _has_trim(self, node: Condition) -> bool:
        """Return whether the code of a short block has a mark that removes white space."""
        code = self.text[node.start : node.end]
        return any(each in code for each in self._trim_before + self._trim_after)

    def _note(self, start: int, caveats: Sequence[str]) -> None:
        outcome = Outcome.CAVEAT if caveats else Outcome.CONVERTED
        self.results[start] = Result(outcome, tuple(caveats))

    def _keep(self, node: Node, reason: str) -> None:
        """Keep a tag, or a block between marks, and the variables that are set in it."""
        if node.start not in self.refused and not isinstance(node, Assignment):
            reason = self._find_cause(node) or reason
        self.results[node.start] = Result(Outcome.BY_HAND, (reason,))
        if not isinstance(node, Assignment | Output):
            self._variables.update(dict.fromkeys(map(self._fold, self._list_set(node))))
        self.kept_variables.update({each.start: each.name for each in _assignments(node)})
        if self._variables or self._assigned:
            self._keep_read(node, reason)
        match node:
            case Condition() | Loop() | Opaque(nodes=(_, *_)) | Output(others=(_, *_)):
                is_block = True
            case _:
                is_block = False
        is_part = node.start in self.parts or node.end in self.parts
        line = self.lines.position(node.start).line if is_block or is_part else None
        self._keep_text(node.start, node.end, line)

    def _keep_read(self, node: Node, reason: str) -> None:
        """Keep the variables that a tag or block by hand reads or changes.

        The assignments to them stay, and those to the variables that these read.
        """
        rest = [node]
        while rest:
            each = rest.pop()
            words = self._words(each)
            can_change, changed = self._can_change(each), words
            if self._copies is not None:  # Other tags only read the variables that they name.
                tags = (inner for inner in walk([each]) if isinstance(inner, Opaque))
                changed = {*chain.from_iterable(map(self._words, tags))}
            for name in words:
                is_known = self._is_variable(name) and self._variables[name] is not None
                if is_known and name not in changed:
                    self._wanted.add(name)
                    continue
                if is_known and can_change:
                    self._variables[name] = None
                for found in self._assigned.pop(name, ()):
                    self.poisoning[node.start] = reason
                    if found.node.start not in self.poisoned:
                        line = self.lines.position(each.start).line
                        read = _READ_BY_HAND.format(line=line, name=found.name)
                        self.poisoned[found.node.start] = self._explain_assigned(found) or read
                        rest += [found.node] if isinstance(found.node, Assignment) else []

    def _find_cause(self, node: Node) -> str | None:
        """Return that the tag reads a variable with a value that content lacks, or None."""
        if not self._variables:
            return None
        values: Sequence[Expression | None] = ()
        match node:
            case Output(value=value) | Assignment(value=value) if not isinstance(value, tuple):
                values = [value]
            case Condition(branches=branches):
                values = [each.test for each in branches]
        for part in chain.from_iterable(_parts(each) for each in values if each is not None):
            match part:
                case Path((str() as name, *_)) if self._explain(
                    self._variables.get(self._fold(name))
                ):
                    return _VARIABLE.format(name=name)
        return None

    def _explain_assigned(self, assigned: _Assigned) -> str | None:
        """Return why the value of the variable is by hand, or None if it is not."""
        reason = self._explain(assigned.value)
        if reason is None:
            return None
        reason = self._find_cause(assigned.node) or reason
        mark = self.profile.vocabulary.variable_mark
        name = assigned.name.removeprefix(mark)
        return _MEANING.format(reason=reason, name=name) if mark else reason

    def _explain(self, value: Expression | None) -> str | None:
        """Return why content lacks the value, as text and as condition, or None if it does not."""
        if value == _STAYS or not isinstance(value, Call | Filtered | Operation):
            return None
        if isinstance(value, Operation) and value.operator != "choice":
            return None
        if id(value) not in self._lacking:
            self._lacking[id(value)] = value, self._find_lack(value)
        return self._lacking[id(value)][1]

    def _find_lack(self, value: Expression) -> str | None:
        try:
            self._shown(value)
        except ByHand as reason:
            with suppress(ByHand):
                self._conditions.read(value)
                return None
            return str(reason)
        return None

    def _words(self, node: Node) -> Collection[str]:
        """Return the words in the code of the node in order, which can be names of variables."""
        return dict.fromkeys(map(self._fold, _WORD.findall(self.text, node.start, node.end)))

    def _can_change(self, node: Node) -> bool:
        """Return whether the node can change variables that it names."""
        match node:
            case Output(value=value):
                return self._has_effect(value)
            case Assignment(value=value):
                return isinstance(value, tuple) or self._has_effect(value)
        return not (isinstance(node, Opaque) and node.name == "VAR")

    def _keep_text(self, start: int, end: int, line: int | None) -> None:
        """Keep a tag or block, or a part of a tag: with the part before it, or as a tag."""
        text, (opening, closing) = self.text[start:end], self.profile.conditions.tag
        escape = self.profile.adjacent_text.escape
        if escape and line is None and self.text.endswith(escape * 2, 0, start):
            text = f"{escape}{text}"  # Without it, the text before the tag ends with one.
        closing = closing if end in self.parts else ""
        if start in self.parts:
            match self.pieces:
                case [*_, Piece(is_kept=True) as last] if last.end > self.parts[start].start:
                    self.pieces[-1] = evolve(last, text=last.text + text, end=end, closing=closing)
                    return
            text = f"{opening}{text}"
        self.pieces.append(
            Piece(text, start, start, is_kept=True, line=line, end=end, closing=closing)
        )

    def _add(self, text: str, start: int, owner: int | None = None) -> None:
        if text:
            self.pieces.append(Piece(text, start, owner))


def _as_default(test: str, then: str, otherwise: str) -> str | None:
    """Return a reference with a default that shows the same as both codes, or None."""
    for reference, text, forms in (
        (then, otherwise, ("{} is set",)),
        (otherwise, then, ("{} is not set", "not {} is set")),
    ):
        name, *filters = reference.strip("{}").split(" | ")
        is_test = test in [each.format(name) for each in forms]
        if is_test and _NEVER_EMPTY.issuperset(filters) and text and "{{" not in text:
            return f"{reference.removesuffix('}}')} | default: {quoted(text)}}}}}"
    return None


def _assignments(node: Node) -> Iterator[Assignment]:
    """Yield the assignments in the node."""
    return (each for each in walk([node]) if isinstance(each, Assignment))


def _exceeds(value: Expression, limit: int) -> bool:
    """Return whether the expression has more parts than the limit."""
    return any(count >= limit for count, _ in enumerate(_parts(value)))


def _parts(value: Expression) -> Iterator[Expression | Filter]:
    """Yield the expression, and those and the filters in it."""
    rest = [value]
    while rest:
        part = rest.pop()
        yield part
        match part:
            case Filtered(inner, filters):
                yield from filters
                rest.append(inner)
            case Operation(_, operands) | Call(_, operands):
                rest += operands


def _as_choice(
    tests: Sequence[Expression | None], values: Sequence[Expression | None]
) -> Expression | None:
    """Return the choice of the value whose test holds, or the value that is not known.

    Its operands are tests, each before its value, and the last value. A long one is not known.
    """
    if _STAYS in values and None not in values:
        return _STAYS
    operands: list[Expression] = []
    for test, value in zip_longest((each for each in tests if each is not None), values):
        if value is None:
            return None
        operands += [value] if test is None else [test, value]
    choice = Operation("choice", tuple(operands))
    return _STAYS if _exceeds(choice, MAX_CHOICE) else choice


def _as_condition(
    tests: Sequence[Expression | None], values: Sequence[Expression | None]
) -> Expression:
    """Return a test that holds in the cases in which the value is true."""
    found: Expression = values[-1] or _FALSE
    for test, value in reversed([*zip(tests, values, strict=False)]):
        if test is None or value == found:
            continue
        negated = Operation("not", (test,))
        if value == _TRUE:
            found = test if found == _FALSE else Operation("or", (test, found))
        else:
            found = negated if found == _TRUE else Operation("and", (negated, found))
    return found


def _as_member(part: str | int | Expression) -> str | int:
    """Return a member that is the same in quotes. Raises: ByHand if it can be another one."""
    if isinstance(part, str | int) and part not in {"first", "last"}:
        return part
    raise ByHand(_VARIABLE)


def _without_place(profile: Profile, node: Node) -> Expression | Node:
    """Return what a tag shows, or the tag without its place. Names are as they are compared."""
    match node:
        case Output(value=Path((str() as name,))):
            return Path((profile.vocabulary.fold(name),))
        case Output(value=value):
            return value
    return evolve(node, start=0, end=0)


@cache
def _dropped(profile: Profile) -> Mapping[Expression | Node, Sequence[tuple[str, str]]]:
    """Return the tags that have no meaning at other ESPs, and the texts that are around each."""
    found: dict[Expression | Node, list[tuple[str, str]]] = {}
    for code in () if profile.dropped is None else profile.dropped.tags:
        (node,) = (each for each in read_tree(profile, code) if not isinstance(each, Text))
        around = code[: node.start], code[node.end :]
        found.setdefault(_without_place(profile, node), []).append(around)
    return found


@cache
def _dropped_tests(profile: Profile) -> Collection[Sequence[Expression | None]]:
    """Return the tests of blocks without a meaning: whether a message is an email, for example."""
    only = profile.email_only
    nodes = () if only is None else read_tree(profile, f"{only.opening}x{only.closing}")
    blocks = [[b.test for b in each.branches] for each in nodes if isinstance(each, Condition)]
    shown = [[each] for each in _dropped(profile) if isinstance(each, Expression)]
    return [*blocks, *shown]


@cache
def _system_codes(
    profile: Profile, first: SystemValue | None
) -> Mapping[Expression | Node, _ReadSystemCode]:
    """Return the system values by their codes without places, and by others that show the same.

    A code of several values means the first.
    """
    found: dict[Expression | Node, _ReadSystemCode] = {}
    usual = profile.insertion.code  # This has one name, too: that of a slot.
    for value in sorted(profile.system_codes, key=lambda each: each is not first):
        code = profile.system_codes[value]
        if isinstance(code, SystemCode):
            caveats = {code.code: code.caveat_of_reading}
            form = code.code if len(_NAME.findall(code.code)) == 1 else usual
            for name, caveat in code.also.items():
                if name not in profile.vocabulary.tags_with_text:
                    caveats[_NAME.sub(name, form, count=1)] = caveat
            for each, caveat in caveats.items():
                nodes = read_tree(profile, each)
                if len(nodes) == 1:
                    read = value, caveat, caveat == code.caveat_of_reading
                    found.setdefault(_without_place(profile, nodes[0]), read)
    return found
