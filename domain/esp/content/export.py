"""Export of content: references and blocks are replaced with the code of one ESP."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

from attrs import asdict, evolve, field, frozen

from ...arguments import require_type
from ...conditions import Comparison, Condition, LocatedViolation, Operator
from ...content import (
    Block,
    Branch,
    Content,
    ContentWarning,
    FilterName,
    InvalidContent,
    Node,
    Reference,
    Strict,
    Surface,
    SystemReference,
    Text,
    WarningCode,
    WarningKind,
)
from ...content.checks import require_fields
from ...content.errors import MAX_VIOLATIONS, MAX_WARNINGS
from ...content.resolution import EMAIL_KEY, FieldResolver
from ...content.tree import comparisons, condition_keys
from ...errors import Rule, Violation
from ...fields.errors import FieldNotFound
from ...fields.field import RecipientField
from ...fields.values import DataType, derive_key
from ..conditions import ConditionCode
from ..conditions.compilation import compile_readings, shared_variable
from ..conditions.languages import LANGUAGES
from ..conditions.operands import Operand, find_readings
from ..dialects import DIALECTS
from ..errors import NameProposal, NotExpressible, NotInsertable
from ..names.codes import FieldCode, FieldCodes
from ..names.esp_names import NameFrom, Target
from ..names.warnings import name_warnings
from ..preludes import assigned_variables
from ..recognition.codes import is_foreign
from ..sources import Strength
from ..surfaces import SURFACE_RULES, ValueForm
from ..system_codes import find_system_code
from ..tags import Tag, find_tags
from .adjacent_text import (
    find_refused_end,
    find_unestablished,
    separate_end_of_block,
    separate_start,
)
from .foreign_code import find_foreign_code, without_literals
from .html_in_values import HtmlInValues
from .markup import Markup, is_in_query
from .places import find_between_rows, find_guarded, find_links
from .quotes import with_other_quotes
from .unsubscribing import find_missing_link
from .web_version import with_email_only_links

MAX_EXPORTED_LENGTH = 4_194_304
"""The number of characters in exported content. Some languages require copies of a block's text."""

_THEN, _OTHERWISE = "\0then\0", "\0otherwise\0"
"""Marks for the texts in the code of a condition. Neither content nor codes contain U+0000."""


@frozen(kw_only=True)
class ExportedContent:
    """Content for one ESP and surface.

    `keys` are the keys of the fields in it, in the order of their first use: not `email`, if it
    means the ESP's own field because the organization has none with this key. `resolved` has the
    keys of references that mean a field with another key, and that key.
    """

    content: str
    surface: Surface
    warnings: tuple[ContentWarning, ...]
    keys: tuple[str, ...]
    resolved: Mapping[str, str]


@frozen
class UnnamedField(LocatedViolation):
    """A reference to a field that has no name at the integration, and a name to set."""

    proposal: NameProposal = field(kw_only=True)


def export_content(
    content: Content,
    codes: FieldCodes,
    target: Target | str,
    *,
    surface: Surface | str | None = None,
    raw: bool = False,
    strict: Strict = False,
    literals: Collection[str] = (),
) -> ExportedContent:
    """Return the content with the codes of the target instead of references and blocks.

    The target is an integration, or an ESP: then its only integration, if there is one. Without a
    `surface`, content with an HTML tag is `html`, and other content `text`. The other text does not
    change. The preludes of the fields are inserted before it, once each.

    Values of text fields are escaped in HTML, and nowhere else, if the ESP has code for it. If
    `raw` is true, the ESP shows them as it does, and there is no warning about that. `literals` are
    texts that must stay as they are: there are no warnings about them.

    Raises: InvalidContent, with all reasons, if a field is unknown or can't be inserted, if a
    reference or a block is at a place at which its code would not work, or if the ESP can't express
    a condition; also if there are warnings that `strict` rejects. IntegrationRequired if there are
    several integrations with the ESP, IntegrationNotFound if there is no such integration.
    TypeError if the content is not parsed, ValueError if the target is the text of no ESP, or
    the surface that of no surface.
    """
    require_type(FieldCodes, codes=codes)
    require_type(bool | str, strict=strict)
    require_type(Collection, literals=literals)
    target = codes.names.resolve_target(target)
    resolver = _Resolver(codes, target)
    require_fields(content, resolver)
    html = HtmlInValues.of(content, codes.names.get_esp(target), surface, raw=raw)
    export = _Export(content, resolver, html, literals)
    exported = export.run()
    warnings = sorted(export.reported_warnings(), key=lambda each: (each.line, each.column))
    rejected = (each for each in warnings if each.code.kind.is_rejected(strict))
    export.violations += map(_as_violation, rejected)
    if export.violations:
        raise InvalidContent(export.violations[:MAX_VIOLATIONS])
    used = {key: str(resolver.get_code(key).meant_field.key) for key in export.used}
    return ExportedContent(
        content=exported,
        surface=html.surface,
        warnings=tuple(_with_each_caveat_once(warnings)),
        keys=tuple(key for key in dict.fromkeys(used.values()) if key in codes.names.by_key),
        resolved={key: actual for key, actual in used.items() if key != actual},
    )


class _Resolver(FieldResolver):
    """The fields and the codes that the keys of references mean at the target."""

    def __init__(self, codes: FieldCodes, target: Target) -> None:
        super().__init__(codes.names.by_key)
        self._codes, self._target = codes, target
        self._found: dict[str, FieldCode | None] = {}
        self._readings: dict[Condition, Sequence[Mapping[str, Operand]]] = {}

    def find(self, key: str) -> RecipientField | None:
        code = self.find_code(key)
        return None if code is None else code.field

    def find_code(self, key: str) -> FieldCode | None:
        """Return the code of the field that a reference with this key means, or None."""
        if key not in self._found:
            code = self._codes.find(key, self._target)
            if code is None and key == EMAIL_KEY:
                code = self._codes.get_own_email(self._target)
            self._found[key] = code
        return self._found[key]

    def get_code(self, key: str) -> FieldCode:
        """Return the code of the field that a reference with this key means.

        Raises: FieldNotFound if there is none.
        """
        code = self.find_code(key)
        if code is None:
            raise FieldNotFound
        return code

    def check(self, condition: Condition) -> None:
        self.read(condition)

    def read(self, condition: Condition) -> Sequence[Mapping[str, Operand]]:
        """Return the readings of a condition on known fields.

        Raises: InvalidCondition if it does not fit the fields.
        """
        if condition not in self._readings:
            codes = {key: self.get_code(key) for key in condition_keys(condition)}
            self._readings[condition] = find_readings(condition, codes)
        return self._readings[condition]


class _Export:
    """One export. It collects all violations and warnings."""

    def __init__(
        self,
        content: Content,
        resolver: _Resolver,
        html: HtmlInValues,
        literals: Collection[str],
    ) -> None:
        esp = html.esp
        self.violations: list[LocatedViolation] = []
        self.warnings: dict[ContentWarning, None] = {}
        self._counts: Counter[WarningKind] = Counter()
        self._literals = literals
        self.used: dict[str, list[int]] = {}
        self._content, self._resolver, self._esp = content, resolver, esp
        self._html = html
        self._guarded = set(find_guarded(content.nodes))
        self._links = set(find_links(content.nodes, content.masked))
        self._tags = tuple(find_tags(esp, content.masked))
        self._markup = Markup(content.masked)
        has_variables = DIALECTS[esp].prelude is not None
        self._set_by_content = assigned_variables(content.source) if has_variables else set()
        self._variables: dict[str, tuple[str, str]] = {}
        self._insertion_codes: dict[tuple[str, str | None, ValueForm], str | NotInsertable] = {}
        self._condition_codes: dict[tuple[Condition, bool], ConditionCode | NotExpressible] = {}

    def run(self) -> str:
        """Return the exported content, preludes first."""
        self._warn_of_foreign_tags()
        nodes = with_email_only_links(self._esp, self._content, self._markup)
        self._warn_of_blocks_in_tables()
        exported = self._render(nodes, in_block=False)
        self._warn_of_names()
        if self._html.surface is Surface.HTML:
            message = find_missing_link(self._esp, self._content)
            if message is not None:
                self._warn(0, WarningCode.UNSUBSCRIBE_LINK_MISSING, message)
        return "".join(dict.fromkeys(prelude for prelude, _ in self._variables.values())) + exported

    def reported_warnings(self) -> Sequence[ContentWarning]:
        """Return up to 1,000 warnings, mistakes first: `strict` rejects them."""
        mistakes_first = sorted(
            self.warnings, key=lambda each: each.code.kind is WarningKind.CAVEAT
        )
        return mistakes_first[:MAX_WARNINGS]

    def _warn_of_foreign_tags(self) -> None:
        """Add the warnings about text that stays, apart from those about literals."""
        content = self._content
        kept = without_literals(content.masked, self._literals)
        for warning in content.warnings:
            offset = content.lines.offset_of(warning.position)
            if kept[offset] == content.masked[offset]:
                self._add(warning)
        places = {warning.position for warning in self.warnings}
        for found in find_foreign_code(self._esp, content.masked, self._literals, self._find_key):
            if content.lines.position(found.offset) not in places:
                self._warn(*found)

    def _warn_of_blocks_in_tables(self) -> None:
        caveat = SURFACE_RULES[self._esp].block_in_table
        if caveat is not None:
            for offset in find_between_rows(self._content.nodes, self._content.masked):
                self._warn(offset, WarningCode.BLOCK_IN_TABLE, caveat)

    def _find_key(self, name: str) -> str | None:
        """Return the key of the field with this key, or with this name in another dialect."""
        keys = (name, derive_key(name))
        return next((key for key in keys if self._resolver.find(key) is not None), None)

    def _warn_of_names(self) -> None:
        for warning in name_warnings({key: self._resolver.get_code(key) for key in self.used}):
            for offset in (each for key in warning.keys for each in self.used[key]):
                self._warn(offset, warning.code, warning.message)

    @property
    def _title(self) -> str:
        return DIALECTS[self._esp].title

    def _render(self, nodes: Sequence[Node], *, in_block: bool) -> str:
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
                case Block():
                    part = self._block(node)
            length += len(part)
            self._require_length(length, node.start)
            parts.append(part)
        return "".join(parts)

    def _text(self, node: Text, before: Node | None, after: Node | None, *, in_block: bool) -> str:
        text = node.text
        if _is_code(after, in_block=in_block):
            refused = find_refused_end(self._esp, text)
            if refused is not None and not self._ends_tag(node.start + len(text)):
                message = (
                    f"{self._title} would read this character as part of the code after it."
                    " Write a space after it."
                )
                self._refuse(node.start + refused, message)
        unestablished = find_unestablished(self._esp, text) if in_block else None
        if unestablished is not None:
            message = (
                f"No source establishes how {self._title} reads this character in a condition."
                " Test the email."
            )
            offset = node.start + unestablished
            self._warn(offset, WarningCode.UNESTABLISHED_CHARACTER, message)
        if _is_code(before, in_block=in_block):
            text = separate_start(self._esp, text, is_start_of_block=before is None)
        return separate_end_of_block(self._esp, text) if in_block and after is None else text

    def _reference(self, reference: Reference) -> str:
        code = self._use(reference.key, reference.start)
        tag = self._tag_at(reference.start)
        if tag is not None and not tag.is_read:
            self._refuse_in_tag(reference.start, tag, reference.key)
            return ""
        try:
            if reference.is_expression:
                if tag is None:
                    message = "Outside of a tag, this shows the expression."
                    self._warn(reference.start, WarningCode.EXPRESSION_OUTSIDE_TAG, message)
                return code.require_value_expression()
            form = self._html.find_form(code, is_link=reference.start in self._links)
            if reference.filters:
                inserted = self._filtered_code(code, reference, form)
            else:
                inserted = self._insertion_code(code, reference.default, form)
        except NotInsertable as error:
            self._refuse(reference.start, str(error), error.proposal)
            return ""
        if tag is not None:
            self._refuse_in_tag(reference.start, tag, reference.key)
        elif code.name_from is NameFrom.FIELD and is_foreign(self._esp, inserted):
            message = f"This field's code may not be code of {self._title}."
            self._warn(reference.start, WarningCode.FOREIGN_INSERTION_CODE, message)
        self._warn_of_missing_value(inserted, reference)
        if not _is_url_encoded(reference):
            self._warn_of_html(code, reference)
        if reference.filters:
            return inserted
        self._warn_of_value(code, reference, form)
        caveat = DIALECTS[self._esp].default_caveat
        if caveat and reference.default is not None and code.data_type is DataType.TEXT:
            self._warn(reference.start, WarningCode.DEFAULT_OF_EMPTY_TEXT, caveat)
        return self._quoted(inserted, reference.start)

    def _filtered_code(self, code: FieldCode, reference: Reference, form: ValueForm) -> str:
        """Return the code with the filters, in a block if it can't be for a missing value.

        A default also requires a block, because the filters don't change it.
        """
        form = ValueForm.USUAL if _is_url_encoded(reference) else form
        filtered = code.require_filtered_code(reference.filters, form=form)
        default = code.require_default(reference.default) if reference.default else ""
        if re.search(LANGUAGES[self._esp].inseparable, default) is not None:
            message = "This default is not possible: add a space at its ends."
            raise NotInsertable(message)
        for difference in filtered.differences:
            self._warn(reference.start, WarningCode.FILTER_DIFFERENCE, difference)
        for name in filtered.secondary:
            message = (
                f"Only secondary sources establish the filter `{name.value}` of {self._title}."
            )
            self._warn(reference.start, WarningCode.SECONDARY_SOURCES, message)
        shown = self._quoted(filtered.code, reference.start)
        if not (filtered.needs_value or default):
            return shown
        position = self._content.lines.position(reference.start)
        condition = Comparison(reference.key, Operator.IS_SET, position=position)
        return self._condition(Branch(condition, (), reference.start), condition, shown, default)

    def _warn_of_html(self, code: FieldCode, reference: Reference) -> None:
        """Warn of texts that are not encoded for their place. Texts in URLs have a form for it."""
        is_text = code.data_type is DataType.TEXT
        if is_text and is_in_query(self._content.masked, reference.start):
            message = "A text in the query of a link must be encoded. Write `| url` after its key."
            self._warn(reference.start, WarningCode.UNENCODED_VALUE, message)
        caveat = self._html.find_caveat(code)
        if caveat is not None:
            self._warn(reference.start, WarningCode.HTML_IN_VALUES, caveat)

    def _system_reference(self, reference: SystemReference) -> str:
        value, start = reference.value, reference.start
        tag = self._tag_at(start)
        if tag is not None:
            place = self._describe_place(tag)
            self._refuse(start, f"This is inside code of {self._title}: {place}. Move it out.")
        code = find_system_code(self._esp, value)
        if isinstance(code, str):
            self._refuse(start, code)
            return ""
        if code.strength is Strength.SECONDARY:
            message = f"Only secondary sources establish the code of {self._title} for `{value}`."
            self._warn(start, WarningCode.SECONDARY_SOURCES, message)
        if code.caveat is not None:
            self._warn(start, WarningCode.SYSTEM_VALUE_DIFFERS, f"`{value}`: {code.caveat}")
        return self._quoted(code.code, start)

    def _warn_of_missing_value(self, inserted: str, reference: Reference) -> None:
        """Warn of code that can stop the message, unless a default or a block guards it.

        Each recipient of an email has an address.
        """
        missing = DIALECTS[self._esp].missing_value
        has_default = reference.default is not None or reference.key == EMAIL_KEY
        is_guarded = has_default or reference.start in self._guarded
        if missing is not None and not is_guarded and re.search(missing.pattern, inserted):
            self._warn(reference.start, WarningCode.MISSING_VALUE_STOPS, missing.message)

    def _warn_of_value(self, code: FieldCode, reference: Reference, form: ValueForm) -> None:
        """Warn of values that the ESP can show in another form than the preview."""
        dialect = DIALECTS[self._esp]
        if code.data_type in dialect.shown_forms:
            message = dialect.shown_forms[code.data_type]
            self._warn(reference.start, WarningCode.SHOWN_FORM, message)
        effects = []
        if form in SURFACE_RULES[self._esp].forms:
            effects.append(f"the value is not shown {form.value}")
        if dialect.guarded_insertion is not None:
            effects.append(f"{self._title} can show None for a value that is null")
        for effect in () if code.is_derived else effects:
            message = f"This code is not derived from a name, so it is inserted verbatim: {effect}."
            self._warn(reference.start, WarningCode.VERBATIM_CODE, message)

    def _insertion_code(self, code: FieldCode, default: str | None, form: ValueForm) -> str:
        key = (str(code.field.key), default, form)
        if key not in self._insertion_codes:
            try:
                self._insertion_codes[key] = code.require_insertion_code(default, form=form)
            except NotInsertable as error:
                self._insertion_codes[key] = error
        inserted = self._insertion_codes[key]
        if isinstance(inserted, NotInsertable):
            raise inserted
        return inserted

    def _block(self, block: Block) -> str:
        """Return the code of a block: each `{{else if}}` is a block in the else part of another."""
        for offset in (*(branch.start for branch in block.branches), block.end):
            tag = self._tag_at(offset)
            if tag is not None:
                self._refuse_in_tag(offset, tag, "KEY")
        texts = [self._render(branch.nodes, in_block=True) for branch in block.branches]
        code = ""
        for branch, text in zip(reversed(block.branches), reversed(texts), strict=True):
            if branch.condition is None:
                code = text
            else:
                code = self._condition(branch, branch.condition, text, code)
        return code

    def _condition(self, branch: Branch, condition: Condition, then: str, otherwise: str) -> str:
        for key in condition_keys(condition):
            self._use(key, branch.start)
        try:
            compiled = self._compile(condition, has_otherwise=bool(otherwise))
        except NotExpressible as error:
            self._refuse(self._refused_place(branch, condition), str(error), error.proposal)
            return ""
        for warning in compiled.warnings:
            if warning.code is not WarningCode.VARIABLE_NOT_SET:  # The preludes set variables.
                self._warn(branch.start, warning.code, warning.message)
        code = self._quoted(compiled.code, branch.start)
        then, otherwise = (LANGUAGES[self._esp].text(text) for text in (then, otherwise))
        length = code.count(_THEN) * len(then) + code.count(_OTHERWISE) * len(otherwise)
        self._require_length(length, branch.start)
        written = code.replace(_THEN, then).replace(_OTHERWISE, otherwise)
        caveat = LANGUAGES[self._esp].find_nesting(written)
        if caveat is not None:
            self._warn(branch.start, caveat.code, caveat.message.format(title=self._title))
        return written

    def _refused_place(self, branch: Branch, condition: Condition) -> int:
        """Return the offset of the first comparison that is refused by itself, or of the branch."""
        for comparison in comparisons(condition):
            try:
                self._compile(comparison, has_otherwise=False)
            except NotExpressible:
                return self._content.lines.offset(comparison)
        return branch.start

    def _compile(self, condition: Condition, *, has_otherwise: bool) -> ConditionCode:
        """Return the code with marks for the texts. Raises: NotExpressible if there is none."""
        key = (condition, has_otherwise)
        if key not in self._condition_codes:
            try:
                self._condition_codes[key] = compile_readings(
                    condition,
                    self._resolver.read(condition),
                    self._esp,
                    then=_THEN,
                    otherwise=_OTHERWISE if has_otherwise else "",
                )
            except NotExpressible as error:
                self._condition_codes[key] = error
        code = self._condition_codes[key]
        if isinstance(code, NotExpressible):
            raise code
        return code

    def _use(self, key: str, offset: int) -> FieldCode:
        """Return the code of the field that the key means, and add its preludes."""
        code = self._resolver.get_code(key)
        if key in self.used:
            self.used[key].append(offset)
            return code
        self.used[key] = [offset]
        for variable, prelude in code.preludes.items():
            if variable in self._set_by_content and not code.sets_variables:
                continue
            first = self._variables.setdefault(variable, (prelude, code.field.key))
            if first[0] != prelude:
                self._refuse(offset, shared_variable(first[1], code.field.key, variable))
        return code

    def _quoted(self, code: str, offset: int) -> str:
        """Return the code in the quotes that are possible at this place."""
        quote = self._markup.quote_at(offset)
        quoted = with_other_quotes(self._esp, code, quote) if quote else code
        if quoted is None:
            name = {'"': "double", "'": "single"}[quote]
            message = (
                f"This is inside {name} quotes or CSS, and its code in {self._title} contains"
                f" {name} quotes. Check that your editor does not change them."
            )
            self._warn(offset, WarningCode.QUOTES_IN_CODE, message)
        return code if quoted is None else quoted

    def _tag_at(self, offset: int) -> Tag | None:
        """Return the tag of the ESP in which the offset is, or None."""
        index = bisect_right(self._tags, offset, key=lambda tag: tag.start) - 1
        return self._tags[index] if index >= 0 and offset < self._tags[index].end else None

    def _ends_tag(self, offset: int) -> bool:
        """Return whether a tag of the ESP ends at this offset."""
        tag = self._tag_at(offset - 1)
        return tag is not None and tag.end == offset

    def _refuse_in_tag(self, offset: int, tag: Tag, key: str) -> None:
        place = self._describe_place(tag)
        if tag.is_read:
            message = (
                f"This is inside a tag of {self._title}: {place}. Write conditions as"
                f' `{{{{#if recipient.{key} = "gold"}}}}…{{{{/if}}}}`, or insert the value'
                f" expression with `{{{{recipient.{key} | expression}}}}`."
            )
        else:
            message = f"{self._title} does not read code after {place}. Move this out of that part."
        self._refuse(offset, message)

    def _describe_place(self, tag: Tag) -> str:
        position, opening = self._content.lines.position(tag.start), " ".join(tag.opening.split())
        return f"`{opening}` in line {position.line}, column {position.column}"

    def _require_length(self, length: int, offset: int) -> None:
        if length > MAX_EXPORTED_LENGTH:
            message = f"The result would have more than {MAX_EXPORTED_LENGTH:,} characters."
            self._refuse(offset, message)
            raise InvalidContent(self.violations)

    def _warn(self, offset: int, code: WarningCode, message: str) -> None:
        self._add(self._content.lines.warning(offset, code, message))

    def _add(self, warning: ContentWarning) -> None:
        kind = warning.code.kind
        if warning not in self.warnings and self._counts[kind] < MAX_WARNINGS:
            self._counts[kind] += 1
            self.warnings[warning] = None

    def _refuse(self, offset: int, message: str, proposal: NameProposal | None = None) -> None:
        violation = self._content.lines.violation(offset, Rule.NOT_APPLICABLE, message)
        if proposal is not None:
            violation = UnnamedField(**asdict(violation, recurse=False), proposal=proposal)
        self.violations.append(violation)
        if len(self.violations) >= MAX_VIOLATIONS:
            raise InvalidContent(self.violations)


def _is_url_encoded(reference: Reference) -> bool:
    return any(each.name is FilterName.URL for each in reference.filters)


def _is_code(neighbour: Node | None, *, in_block: bool) -> bool:
    """Return whether the neighbour of a text is a tag. At the ends of a block, there is one."""
    if neighbour is None:
        return in_block
    return not (isinstance(neighbour, Reference) and neighbour.is_expression)


def _with_each_caveat_once(warnings: Iterable[ContentWarning]) -> Iterator[ContentWarning]:
    """Yield the mistakes, and each caveat at its first place, with its other places."""
    groups: dict[object, list[ContentWarning]] = {}
    for warning in warnings:
        is_caveat = warning.code.kind is WarningKind.CAVEAT
        groups.setdefault((warning.code, warning.message) if is_caveat else warning, []).append(
            warning
        )
    for first, *others in groups.values():
        yield evolve(first, places=tuple(each.position for each in others))


def _as_violation(warning: ContentWarning) -> LocatedViolation:
    return warning.position.locate(Violation(Rule.NOT_APPLICABLE, warning.message))
