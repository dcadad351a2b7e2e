"""The code of an ESP for the nodes of content."""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Iterable, Sequence
from contextlib import suppress

from attrs import evolve, frozen

from ...conditions import Comparison, Condition, Operator
from ...conditions.tree import condition_keys
from ...content import Content, Surface, WarningCode
from ...content.filters import FilterName
from ...content.html import DoesNotFit, Kind, Mjml
from ...content.resolution import EMAIL_KEY, data_types
from ...content.tree import Block, Loop, Node, Reference, SystemReference, Text
from ...data_paths import DataPath
from ..data_codes import condition_caveats, data_caveats, find_loop, rename
from ..errors import NotExpressible, NotInsertable
from ..languages.condition_writers import MAX_COPIES
from ..languages.conditions import ConditionLanguage
from ..profiles.profile import Profile, Quoting, Strength
from .insertions import HtmlInValues, Insertion, Insertions
from .links import find_links
from .report import Report
from .resolver import (
    OTHERWISE,
    THEN,
    CodeResolver,
    UsedFields,
    find_guarded,
)
from .surroundings import (
    NativeTags,
    find_refused_end,
    find_unestablished,
    separate_end,
    separate_start,
)

MAX_EXPORTED_LENGTH = 4_194_304
"""The number of characters in exported content. Some languages require copies of a block's text."""
_LITERALS = re.compile(r"""(?>(?:[^"']++|(?:"[^"]*+"|'[^']*+')(?!["']))*)""")
"""Code in which string literals don't contain doubled quotes."""
_LITERAL = re.compile(r"""(?P<quote>["'])(?P<text>.*?)(?P=quote)""", re.DOTALL)


_QUOTES = "double", "single"
_REPEATED = (
    f"At {{title}}, this block would repeat its texts more than {MAX_COPIES} times. Use fewer"
    " branches or values, or test one field in all branches."
)
_MARKS = re.compile(f"({THEN}|{OTHERWISE})")
_DROPPED = (
    "MJML drops this code when it compiles the file. Write it in a component with text, such as"
    " `<mj-text>`, or in `<mj-raw>` between sections, columns or their contents."
)


class Rendering:
    """The rendering of one content. The report has what is wrong with its places."""

    def __init__(
        self,
        content: Content,
        resolver: CodeResolver,
        html: HtmlInValues,
        used: UsedFields,
        report: Report,
    ) -> None:
        self._resolver, self._sent_by = resolver, resolver.scope.sent_by
        self._profile, self._title = html.profile, html.profile.title
        self._surface = html.surface
        self._content, self._places = content, content.html
        self._used, self._report = used, report
        self._insertions = Insertions(html, resolver.profiles)
        self._native_tags = NativeTags(self._profile, content)
        self._guarded = set(find_guarded(content.nodes))
        self._repeated = 0
        """The characters that the blocks so far repeat."""
        self._codes: dict[tuple[str, str], str | None] = {}
        self._links = set(find_links(content, content.nodes))
        if self._places.is_mjml:
            self._warn_of_mjml(self._native_tags.starts())

    def render(self, nodes: Sequence[Node], *, in_block: bool = False) -> str:
        """Return the code of the nodes. In a block, tags are directly before and after them."""
        parts: list[str] = []
        length = 0
        for index, node in enumerate(nodes):
            match node:
                case Text():
                    before = nodes[index - 1] if index else None
                    after = nodes[index + 1] if index + 1 < len(nodes) else None
                    part = self._text(node, before, after, in_block=in_block)
                case Reference():
                    part = self._reference(node)
                case SystemReference():
                    part = self._system_reference(node)
                case Loop():
                    part = self._loop(node)
                case Block():
                    part = self._block(node)
            length += len(part)
            self._require_length(length, node.start)
            parts.append(part)
        return "".join(parts)

    def _text(self, node: Text, before: Node | None, after: Node | None, *, in_block: bool) -> str:
        text = node.text
        if _is_code(after, in_block=in_block):
            refused = find_refused_end(self._profile, text)
            if refused is not None and not self._native_tags.has_end(node.start + len(text)):
                message = (
                    f"{self._title} would read this character as part of the code after it."
                    " Write a space after it."
                )
                self._report.refuse(node.start + refused, message)
            text = separate_end(self._profile, text, is_end_of_block=after is None)
        unestablished = find_unestablished(self._profile, text) if in_block else None
        if unestablished is not None:
            message = (
                f"No source establishes how {self._title} reads this character in a condition."
                " Test the email."
            )
            offset = node.start + unestablished
            self._report.warn(offset, WarningCode.UNESTABLISHED_CHARACTER, message)
        if _is_code(before, in_block=in_block):
            text = separate_start(self._profile, text, is_start_of_block=before is None)
        return text

    def _reference(self, reference: Reference) -> str:
        key, start = reference.key, reference.start
        code = self._used.show(reference)
        tag = self._native_tags.find(start)
        if tag is not None and not tag.is_code:
            self._report.refuse(start, self._native_tags.explain(tag, key))
            return ""
        written = self._with_default_for_place(reference)
        try:
            if reference.is_expression:
                expression = code.require_value_expression()
                self._warn_of_data(reference)
                if tag is None:
                    message = "Outside of a tag, this shows the expression."
                    self._report.warn(start, WarningCode.EXPRESSION_OUTSIDE_TAG, message)
                return expression
            insertion = self._insertions.get(written, code, is_link=start in self._links)
        except NotInsertable as error:
            message = str(error)
            if written != reference:
                message += f" At this place, the default is written `{written.default}`."
            self._report.refuse(start, message, error.proposal)
            return ""
        has_filters = bool(reference.filters)
        if isinstance(reference.key, DataPath) and reference.key.is_state and not has_filters:
            return self._quoted(insertion.code, start)  # Each round has a number, in one form.
        shown = self._filtered(reference, insertion) if has_filters else insertion.code
        self._warn_of_data(reference)
        if tag is not None:
            self._report.refuse(start, self._native_tags.explain(tag, key))
        self._warn_of_mjml([start])
        if tag is None and insertion.is_foreign:
            message = f"This field's code may not be code of {self._title}."
            self._report.warn(start, WarningCode.FOREIGN_INSERTION_CODE, message)
        self._warn_of_missing_value(reference, shown)
        self._warn_of_html(start, insertion)
        for warning_code, message in insertion.value_notes:
            self._report.warn(start, warning_code, message)
        return shown if has_filters else self._quoted(shown, start)

    def _with_default_for_place(self, reference: Reference) -> Reference:
        """Return the reference with its default as it must be written at its place."""
        if not reference.default:
            return reference
        is_html = self._surface is Surface.HTML
        with suppress(DoesNotFit):  # The check of the content has refused this default.
            default = self._places.fit(reference.default, reference.start, is_html=is_html)
            return evolve(reference, default=default)
        return reference

    def _filtered(self, reference: Reference, insertion: Insertion) -> str:
        """Return the code with filters, in a condition if it needs one."""
        start = reference.start
        for warning_code, message in insertion.filter_notes:
            self._report.warn(start, warning_code, message)
        shown = self._quoted(insertion.code, start)
        if insertion.otherwise is None:
            return shown
        position = self._content.lines.position(start)
        condition = Comparison(reference.key, Operator.IS_SET, position=position)
        otherwise, guard = _Code(insertion.otherwise), reference.filters[0].name
        return str(self._condition(condition, start, shown, otherwise, guard=guard))

    def _warn_of_data(self, reference: Reference) -> None:
        if isinstance(reference.key, DataPath):
            for code, message in data_caveats(self._profile, reference, self._sent_by):
                self._report.warn(reference.start, code, message)

    def _warn_of_missing_value(self, reference: Reference, shown: str) -> None:
        """Warn of code that can stop the message, unless a default or a block guards it.

        Each recipient of an email has an address.
        """
        missing = self._profile.insertion.missing_value
        has_default = reference.default is not None or reference.key == EMAIL_KEY
        is_guarded = has_default or reference.start in self._guarded
        if missing is not None and not is_guarded and re.search(missing.pattern, shown):
            self._report.warn(reference.start, WarningCode.MISSING_VALUE_STOPS, missing.message)

    def _warn_of_html(self, start: int, insertion: Insertion) -> None:
        """Warn of texts that are not encoded for their place."""
        if insertion.needs_encoding and self._places.is_in_query(start):
            message = (
                f"A text in the query of a link must be encoded. Add the filter of {self._title},"
                " or in content `| url`."
            )
            self._report.warn(start, WarningCode.UNENCODED_VALUE, message)
        if insertion.html_caveat is not None:
            self._report.warn(start, WarningCode.HTML_IN_VALUES, insertion.html_caveat)

    def _system_reference(self, reference: SystemReference) -> str:
        value, start = reference.value, reference.start
        scope = self._resolver.scope
        with suppress(NotInsertable):  # Otherwise, the loop is refused.
            if scope.variables and find_loop(self._profile, scope).root:
                message = f"{self._title} would read this in the item of the loop. Move it out."
                self._report.refuse(start, message)
        tag = self._native_tags.find(start)
        if tag is not None:
            self._report.refuse(start, self._native_tags.explain_system_value(tag))
        self._warn_of_mjml([start])
        code = self._profile.find_system_code(value)
        if isinstance(code, str):
            self._report.refuse(start, code)
            return ""
        if code.strength is Strength.SECONDARY:
            message = f"Only secondary sources establish the code of {self._title} for `{value}`."
            self._report.warn(start, WarningCode.SECONDARY_SOURCES, message)
        if code.caveat is not None:
            message = f"`{value}`: {code.caveat}"
            self._report.warn(start, WarningCode.SYSTEM_VALUE_DIFFERS, message)
        return self._quoted(code.code, start)

    def _block(self, block: Block) -> str:
        """Return the code of a block: each `{{else if}}` is a block in the else part of another."""
        is_raw, before = self._is_raw(block), self._repeated
        texts: list[tuple[str, int]] = []
        for branch in block.branches:
            self._repeated = 0
            text = self.render(branch.nodes, in_block=not is_raw)
            texts.append((text, self._repeated))
        code = _Code("")
        for branch, (text, repeated) in zip(reversed(block.branches), reversed(texts), strict=True):
            if branch.condition is None:
                code = _Code(text, repeated)
                continue
            code = self._condition(
                branch.condition, branch.start, text, code, is_raw=is_raw, repeated=repeated
            )
        self._repeated = before + code.length - code.once
        return str(code)

    def _is_raw(self, block: Block) -> bool:
        """Return whether the tags must be inside `<mj-raw>`. Report what is wrong with places."""
        caveat = self._profile.surfaces.block_in_table
        if caveat is not None and self._places.is_between_rows(block.start):
            self._report.warn(block.start, WarningCode.BLOCK_IN_TABLE, caveat)
        offsets = (*(branch.start for branch in block.branches), block.end)
        for offset in offsets:
            tag = self._native_tags.find(offset)
            if tag is not None:
                self._report.refuse(offset, self._native_tags.explain(tag, "KEY"))
        in_mjml = {self._places.find_mjml(offset) for offset in offsets}
        is_raw = in_mjml == {Mjml.KEEPS_RAW}  # Then components are between tags and text.
        if not is_raw:
            self._warn_of_mjml(offsets)
        return is_raw

    def _loop(self, block: Loop) -> str:
        """Return the code of a loop."""
        is_raw, outer = self._is_raw(block), self._resolver.scope
        form, items = None, ""
        try:
            form = find_loop(self._profile, outer)
            items = self._used.use(block.items, block.start).require_value_expression()
        except NotInsertable as error:
            self._report.refuse(block.start, str(error))
        self._resolver.scope = outer.inside(block.variable)
        text = self.render(block.branches[0].nodes, in_block=not is_raw)
        self._resolver.scope = outer
        others = [self.render(each.nodes, in_block=not is_raw) for each in block.branches[1:]]
        if form is None or not items:
            return ""
        for code, message in data_caveats(self._profile, None, self._sent_by):
            self._report.warn(block.start, code, message)
        slots = {"ITEMS": items, "VARIABLE": rename(self._profile, block.variable)}

        def tag(template: str) -> str:
            code = re.sub("ITEMS|VARIABLE", lambda slot: slots[slot[0]], template)
            code = self._quoted(code, block.start)
            return f"<mj-raw>{code}</mj-raw>" if is_raw else code

        language = self._profile.conditions
        otherwise = "".join(others)
        written = tag(form.opening) + (text if is_raw else language.text(text))
        if otherwise and form.otherwise is not None:
            written += tag(form.otherwise) + (otherwise if is_raw else language.text(otherwise))
        written += tag(form.closing)
        if otherwise and form.guard is not None:
            opening, divider, closing = map(tag, form.guard)
            return opening + written + divider + otherwise + closing
        return written

    def _warn_of_mjml(self, offsets: Iterable[int]) -> None:
        """Warn of code at these offsets that MJML drops when it compiles the file."""
        for offset in offsets:
            if self._places.find_mjml(offset) is not Mjml.KEEPS:
                self._report.warn(offset, WarningCode.LOST_IN_MJML, _DROPPED)

    def _condition(
        self,
        condition: Condition,
        start: int,
        then: str,
        otherwise: _Code,
        *,
        is_raw: bool = False,
        repeated: int = 0,
        guard: FilterName | None = None,
    ) -> _Code:
        """Return the code of a condition, with its tags inside `<mj-raw>` if `is_raw` is true.

        `repeated` are the characters that blocks in `then` repeat. `guard` is the filter that needs
        it, if it is that of a filter.
        """
        for key in dict.fromkeys(condition_keys(condition)):
            self._used.use(key, start)
        try:
            compiled = self._resolver.compile(
                condition, has_otherwise=otherwise.length > 0, guard=guard
            )
        except NotExpressible as error:
            place = error.position
            offset = start if place is None else self._content.lines.offset_of(place)
            self._report.refuse(offset, str(error), error.proposal)
            return _Code("")
        for data_type in data_types(condition).values():
            for warning_code, message in condition_caveats(self._profile, data_type, self._sent_by):
                self._report.warn(start, warning_code, message)
        for warning in compiled.warnings:
            if warning.code is not WarningCode.VARIABLE_NOT_SET:  # The preludes set variables.
                self._report.warn(start, warning.code, warning.message)
        language = self._profile.conditions
        code = self._quoted(compiled.code, start)
        if is_raw:
            tags = _MARKS.split(code)
            code = "".join(
                f"<mj-raw>{each}</mj-raw>" if each and not _MARKS.fullmatch(each) else each
                for each in tags
            )
        else:
            then = language.text(then)
            otherwise.complete(language)
        length = code.count(THEN) * len(then) + code.count(OTHERWISE) * otherwise.length
        self._require_length(length, start)
        otherwise.once += len(code) + len(then) - repeated
        if length > MAX_COPIES * otherwise.once:
            self._report.refuse(start, _REPEATED.format(title=self._title))
            return _Code("")
        beginning = otherwise.enclose(code.replace(THEN, then), language)
        caveat = language.find_nesting(beginning)
        if caveat is not None:
            message = caveat.message.format(title=self._title)
            self._report.warn(start, caveat.code, message)
        return otherwise

    def _quoted(self, code: str, offset: int) -> str:
        """Return the code in the quotes that are possible at this place."""
        place = self._places.at(offset)
        quote = place.quote
        if not quote and place.kind in {Kind.TAG, Kind.ATTRIBUTE, Kind.STYLE}:
            quote = '"'
        if not quote or quote not in code:
            return code
        if (code, quote) not in self._codes:
            self._codes[code, quote] = _with_other_quotes(self._profile, code, quote)
        quoted = self._codes[code, quote]
        if quoted is None:
            name, other = _QUOTES if quote == '"' else reversed(_QUOTES)
            contains = f"its code in {self._title} contains {name} quotes"
            warning_code = WarningCode.QUOTES_IN_CODE
            message = (
                f"This is inside {name} quotes or CSS, and {contains}. Check that your editor does"
                " not change them."
            )
            if place.kind is Kind.ATTRIBUTE and self._places.is_mjml:
                warning_code = WarningCode.LOST_IN_MJML
                message = f"MJML ends this attribute too early, because {contains}."
                message += f" Write the attribute in {other} quotes."
            self._report.warn(offset, warning_code, message)
        return code if quoted is None else quoted

    def _require_length(self, length: int, offset: int) -> None:
        if length > MAX_EXPORTED_LENGTH:
            message = f"The result would have more than {MAX_EXPORTED_LENGTH:,} characters."
            self._report.stop(offset, message)


@frozen
class _Shown:
    """What a block shows in one case: a text, or another block."""

    text: str
    is_block: bool = False

    def insert(self, code: str, language: ConditionLanguage) -> str:
        """Return the code with this at each mark OTHERWISE."""
        if self.is_block:
            return language.insert(code, OTHERWISE, self.text)
        return code.replace(OTHERWISE, self.text)


class _Code:
    """A text, or the code of the last branches of a block.

    It has parts, so that each branch is written once: a block can have 1,000 of them.
    """

    def __init__(self, text: str, repeated: int = 0) -> None:
        self._parts = deque([text])
        self._is_block = False
        self.length = len(text)
        self.once = len(text) - repeated
        """The length without copies of texts."""
        self._guard: str | None = None
        """The first tag of the block, if it is known what the block shows where its test holds."""
        self._held = self._failed = _Shown(text)
        """What it shows where the test holds, and where it does not."""

    def __str__(self) -> str:
        return "".join(self._parts)

    def complete(self, language: ConditionLanguage) -> None:
        """Write the text as a block requires it. Code with an else part is never blank."""
        if len(self._parts) == 1:
            self._set(language.text(self._parts[0]))

    def enclose(self, code: str, language: ConditionLanguage) -> str:
        """Become the code with this one instead of its marks OTHERWISE. Return its beginning."""
        before, *others = code.split(OTHERWISE)
        if len(others) == 1:
            first, after = self._parts.popleft(), others[0]
            self.length -= len(first)
            if self._is_block:
                before, first, after = language.join(before, first, after)
            self._parts.extendleft((first, before))
            self._parts.append(after)
            self.length += len(before) + len(first) + len(after)
            self._guard, beginning = None, before + first + after
        else:
            beginning = self._enclose_copies(code, language)
            self._set(beginning)
        self._is_block = True
        return beginning

    def _enclose_copies(self, code: str, language: ConditionLanguage) -> str:
        """Return the code with this one instead of several marks.

        Code that begins with the same test does not repeat it: at each mark, its result is known.
        Otherwise, each further branch of `points >= 10`, `points >= 5` … would double the code.
        """
        whole = _Shown(str(self), self._is_block)
        split = language.split_guard(code, OTHERWISE)
        if split is None:
            self._guard = None
            return whole.insert(code, language)
        guard, held, failed = split
        if guard != self._guard:
            self._held = self._failed = whole
        self._guard = guard
        self._held = _Shown(self._held.insert(held, language), is_block=True)
        return guard + self._held.text + self._failed.insert(failed, language)

    def _set(self, text: str) -> None:
        self._parts = deque([text])
        self.length = len(text)


def _is_code(neighbour: Node | None, *, in_block: bool) -> bool:
    """Return whether the neighbour of a text is a tag. At the ends of a block, there is one."""
    if neighbour is None:
        return in_block
    return not (isinstance(neighbour, Reference) and neighbour.is_expression)


def _with_other_quotes(profile: Profile, code: str, quote: str) -> str | None:
    """Return the code without this type of quotes in its tags, or None if it has no such form.

    The text between the tags stays as it is.
    """
    parts: list[str] = []
    end = 0
    for tag in profile.find_tags(code):
        changed = _tag_with_other_quotes(profile, code[tag.start : tag.end], quote)
        if changed is None:
            return None
        parts += code[end : tag.start], changed
        end = tag.end
    return "".join((*parts, code[end:]))


def _tag_with_other_quotes(profile: Profile, tag: str, quote: str) -> str | None:
    if quote not in tag:
        return tag
    if profile.insertion.quoting is Quoting.NONE or _LITERALS.fullmatch(tag) is None:
        return None
    other_quote = {'"': "'", "'": '"'}[quote]

    def in_other_quotes(literal: re.Match[str]) -> str:
        text = literal["text"]
        has_quotes = quote in text or other_quote in text
        return literal[0] if has_quotes else f"{other_quote}{text}{other_quote}"

    changed = _LITERAL.sub(in_other_quotes, tag)
    return None if quote in changed else changed
