"""Export of content: references and blocks are replaced with the code of one ESP."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence

from attrs import evolve, frozen

from ...conditions import Condition, LocatedViolation
from ...content import (
    Block,
    Branch,
    Content,
    ContentWarning,
    InvalidContent,
    Node,
    Reference,
    Strict,
    Text,
    WarningCode,
    WarningKind,
)
from ...content.checks import require_fields
from ...content.errors import MAX_VIOLATIONS, MAX_WARNINGS
from ...content.resolution import FieldResolver
from ...content.tree import condition_keys
from ...errors import Rule, Violation
from ...fields.field import RecipientField
from ...fields.values import DataType
from ...identity import IntegrationId
from ..conditions import ConditionCode, compile_condition
from ..conditions.languages import LANGUAGES
from ..dialects import DIALECTS, Esp
from ..errors import NotExpressible, NotInsertable
from ..resolution import exportable_fields
from .adjacent_text import (
    find_refused_end,
    find_unestablished,
    separate_end_of_block,
    separate_start,
)
from .insertion_codes import (
    has_derived_code,
    insertion_code,
    value_expression,
    with_other_quotes,
)
from .markup import Markup
from .preludes import Preludes
from .tags import Tag, find_foreign_tags, find_tags, is_foreign, titles

MAX_EXPORTED_LENGTH = 4_194_304
"""The number of characters in exported content. Some languages require copies of a block's text."""

_THEN, _OTHERWISE = "\0then\0", "\0otherwise\0"
"""Marks for the texts in the code of a condition. Neither content nor codes contain U+0000."""


@frozen(kw_only=True)
class ExportedContent:
    """Content for one ESP.

    `keys` are the keys of the fields in it, in the order of their first use. `resolved` has the
    keys of references that mean a field with another key, and that key.
    """

    content: str
    warnings: tuple[ContentWarning, ...]
    keys: tuple[str, ...]
    resolved: Mapping[str, str]


def export_content(
    content: Content,
    fields: Iterable[RecipientField],
    esp: Esp | str,
    *,
    integration_id: IntegrationId | None = None,
    strict: Strict = False,
) -> ExportedContent:
    """Return the content with the codes of the ESP instead of references and blocks.

    `fields` are those of one organization. The content can use API fields, manual fields, and the
    fields of the integration. A reference means the field with its key. If the content can't use
    that field, the reference means the integration's field with the same name at the ESP, or with
    a name from which the same key is derived. The other text does not change. The preludes of the
    fields are inserted before it, once each.

    Raises: InvalidContent, with all reasons, if a field is unknown or can't be inserted, if a
    reference or a block is at a place at which its code would not work, or if the ESP can't express
    a condition; also if there are warnings that `strict` rejects. TypeError if the content is not
    parsed, ValueError if `esp` is the text of no ESP.
    """
    esp = Esp(esp)
    fields = tuple(fields)
    resolver = FieldResolver(exportable_fields(fields, integration_id), fields)
    require_fields(content, resolver)
    export = _Export(content, resolver, esp)
    exported = export.run()
    warnings = sorted(export.warnings, key=lambda each: (each.line, each.column))
    rejected = (each for each in warnings if each.code.kind.is_rejected(strict))
    export.violations += map(_as_violation, rejected)
    if export.violations:
        raise InvalidContent(export.violations)
    resolved = {key: str(field.key) for key, field in export.used.items()}
    return ExportedContent(
        content=exported,
        warnings=tuple(_with_each_caveat_once(warnings)),
        keys=tuple(dict.fromkeys(resolved.values())),
        resolved={key: actual for key, actual in resolved.items() if key != actual},
    )


class _Export:
    """One export. It collects all violations and warnings."""

    def __init__(self, content: Content, resolver: FieldResolver, esp: Esp) -> None:
        self.violations: list[LocatedViolation] = []
        self.warnings: dict[ContentWarning, None] = dict.fromkeys(content.warnings)
        self.used: dict[str, RecipientField] = {}
        self._content, self._resolver, self._esp = content, resolver, esp
        self._tags = tuple(find_tags(esp, content.masked))
        self._markup = Markup(content.masked)
        self._preludes = _preludes(esp, content, resolver)
        self._variables: dict[str, str] = {}
        self._insertion_codes: dict[tuple[str, str | None], str | NotInsertable] = {}
        self._condition_codes: dict[tuple[Condition, bool], ConditionCode | NotExpressible] = {}

    def run(self) -> str:
        """Return the exported content, preludes first."""
        self._warn_of_foreign_tags()
        exported = self._render(self._content.nodes, in_block=False)
        return "".join(dict.fromkeys(self._variables.values())) + exported

    def _warn_of_foreign_tags(self) -> None:
        places = {(warning.line, warning.column) for warning in self.warnings}
        for tag, dialects in find_foreign_tags(self._esp, self._content.masked):
            place = self._content.lines.position(tag.start)
            if (place.line, place.column) not in places:
                message = f"{self._title} does not read this code of {titles(dialects)}."
                self._warn(tag.start, WarningCode.FOREIGN_CODE, message)

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
        field = self._use(reference.key, reference.start)
        tag = self._tag_at(reference.start)
        if tag is not None and not tag.is_read:
            self._refuse_in_tag(reference.start, tag, reference.key)
            return ""
        try:
            if reference.is_expression:
                if tag is None:
                    message = "Outside of a tag, this shows the expression."
                    self._warn(reference.start, WarningCode.EXPRESSION_OUTSIDE_TAG, message)
                return value_expression(field)
            code = self._insertion_code(field, reference.default)
        except NotInsertable as error:
            self._refuse(reference.start, str(error))
            return ""
        if tag is not None:
            self._refuse_in_tag(reference.start, tag, reference.key)
        elif field.origin.integration_id is None and is_foreign(self._esp, code):
            message = f"This field's code may not be code of {self._title}."
            self._warn(reference.start, WarningCode.FOREIGN_INSERTION_CODE, message)
        self._warn_of_value(field, reference)
        caveat = DIALECTS[self._esp].default_caveat
        if caveat and reference.default is not None and field.data_type is DataType.TEXT:
            self._warn(reference.start, WarningCode.DEFAULT_OF_EMPTY_TEXT, caveat)
        return self._quoted(code, reference.start)

    def _warn_of_value(self, field: RecipientField, reference: Reference) -> None:
        """Warn of values that the ESP can show in another form than the preview."""
        dialect = DIALECTS[self._esp]
        if field.data_type in dialect.shown_forms:
            message = dialect.shown_forms[field.data_type]
            self._warn(reference.start, WarningCode.SHOWN_FORM, message)
        is_guarded = reference.default is not None or has_derived_code(self._esp, field)
        if dialect.guarded_insertion is not None and not is_guarded:
            message = (
                "This code was not derived from a synced field, so it is inserted verbatim:"
                f" {self._title} can show None for a value that is null."
            )
            self._warn(reference.start, WarningCode.VERBATIM_CODE, message)

    def _insertion_code(self, field: RecipientField, default: str | None) -> str:
        key = (str(field.key), default)
        if key not in self._insertion_codes:
            try:
                self._insertion_codes[key] = insertion_code(self._esp, field, default)
            except NotInsertable as error:
                self._insertion_codes[key] = error
        code = self._insertion_codes[key]
        if isinstance(code, NotInsertable):
            raise code
        return code

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
            self._refuse(branch.start, str(error))
            return ""
        for warning in compiled.warnings:
            if warning.code is not WarningCode.VARIABLE_NOT_SET:  # The preludes set variables.
                self._warn(branch.start, warning.code, warning.message)
        code = self._quoted(compiled.code, branch.start)
        then, otherwise = (LANGUAGES[self._esp].text(text) for text in (then, otherwise))
        length = code.count(_THEN) * len(then) + code.count(_OTHERWISE) * len(otherwise)
        self._require_length(length, branch.start)
        return code.replace(_THEN, then).replace(_OTHERWISE, otherwise)

    def _compile(self, condition: Condition, *, has_otherwise: bool) -> ConditionCode:
        """Return the code with marks for the texts. Raises: NotExpressible if there is none."""
        key = (condition, has_otherwise)
        if key not in self._condition_codes:
            try:
                self._condition_codes[key] = compile_condition(
                    self._resolver.resolve(condition),
                    self._resolver.fields_of(condition),
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

    def _use(self, key: str, offset: int) -> RecipientField:
        """Return the field that the key means, and add its preludes."""
        field = self._resolver.get(key)
        if key not in self.used:
            self.used[key] = field
            preludes = {} if self._preludes is None else self._preludes.of(field)
            for variable, prelude in preludes.items():
                if self._variables.setdefault(variable, prelude) != prelude:
                    message = f"Another field of this content sets the variable {variable}."
                    self._refuse(offset, message)
        return field

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
        position = self._content.lines.position(tag.start)
        place = (
            f"`{' '.join(tag.opening.split())}` in line {position.line}, column {position.column}"
        )
        if tag.is_read:
            message = (
                f"This is inside a tag of {self._title}: {place}. Write conditions as"
                f' `{{{{#if recipient.{key} = "gold"}}}}…{{{{/if}}}}`, or insert the value'
                f" expression with `{{{{recipient.{key} | expression}}}}`."
            )
        else:
            message = f"{self._title} does not read code after {place}. Move this out of that part."
        self._refuse(offset, message)

    def _require_length(self, length: int, offset: int) -> None:
        if length > MAX_EXPORTED_LENGTH:
            message = f"The result would have more than {MAX_EXPORTED_LENGTH:,} characters."
            self._refuse(offset, message)
            raise InvalidContent(self.violations)

    def _warn(self, offset: int, code: WarningCode, message: str) -> None:
        if len(self.warnings) < MAX_WARNINGS:
            self.warnings[self._content.lines.warning(offset, code, message)] = None

    def _refuse(self, offset: int, message: str) -> None:
        violation = self._content.lines.violation(offset, Rule.NOT_APPLICABLE, message)
        self.violations.append(violation)
        if len(self.violations) >= MAX_VIOLATIONS:
            raise InvalidContent(self.violations)


def _preludes(esp: Esp, content: Content, resolver: FieldResolver) -> Preludes | None:
    """Return the preludes of the fields, or None if the dialect has none."""
    if DIALECTS[esp].prelude is None:
        return None
    return Preludes(resolver.fields.values(), content.source)


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
