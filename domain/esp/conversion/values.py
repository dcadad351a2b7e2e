"""Values that a template shows: the references to fields that mean the same.

The profile of an ESP says how it writes defaults and filters. These codes, read by its grammar, are
the patterns here.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import cache
from itertools import chain
from typing import TypeAlias

from attrs import Factory, define, evolve, field, frozen

from ...content.filters import (
    Filter,
    FilterName,
    apply_filters,
    find_type_error,
    parse_filter,
)
from ...fields.values import DataType
from ..errors import NotInsertable
from ..filtered_codes import filter_code
from ..languages.tree import (
    Call,
    Expression,
    Filtered,
    Literal,
    Node,
    Output,
    Path,
    list_tags,
    map_nodes,
    walk,
)
from ..languages.tree import Filter as FilterCode
from ..profiles.profile import FilterRefusal, OtherDefault, Profile
from .code import (
    DEFAULT,
    LENGTH,
    LESS,
    SLOT,
    find_shape,
    match_all,
    match_code,
    read_output,
    read_tree,
)
from .outcomes import ByHand
from .source_fields import SourceField, SourceFields

_ARITHMETIC = (FilterName.PLUS, FilterName.MINUS, FilterName.TIMES)
_ARGUMENTS: Mapping[FilterName, Sequence[int | str | None]] = {
    FilterName.NUMBER: range(5),
    FilterName.DATE: (LENGTH,),
    FilterName.JOIN: (DEFAULT,),
    **dict.fromkeys((FilterName.TRUNCATE, *_ARITHMETIC), (int(LENGTH),)),
}
_TYPES = {
    FilterName.DATE: DataType.DATE,
    **dict.fromkeys((FilterName.NUMBER, *_ARITHMETIC), DataType.NUMBER),
}
_OF_LISTS = {FilterName.FIRST, FilterName.JOIN}
UNCHANGED = frozenset({"escape", "escape_once", "force_escape", "redirectto", "safe"})
"""Filters and functions that change only how HTML or a link in a value is shown."""

RAW_HTML = "HTML in a value is shown as it is at {title}, and can be escaped in the result."
_NULL = "At {title}, a value that is null and an empty text show another text than a missing one."
_NONE = "At {title}, a value of {key} that is missing or null can be shown as the word None."
_REPLACED = "{title} shows the default instead of {value}, too."
NO_CONDITION = "No condition of content means the same. Write this condition for the other ESP."
_CHANGED = (
    "Conditions compare values as they are, and `{name}` changes this one. Write this condition for"
    " the other ESP."
)
_JOINED = (
    "`{name}` joins values, to which no filter or condition of content applies. Write this tag for"
    " the other ESP."
)
_FILTER = "No filter of content means the same as `{name}`. Write this tag for the other ESP."
_LOOKUP = "`{name}` reads other data than the recipient's. Send the value as a field."
_FORMAT = "Content has no date like `{}`. Write this tag for the other ESP."
_DEFAULT = "Defaults of content are texts. Write a condition first, with this one in its `else`."
_EXPRESSION = "This is not the value of a field. Write this tag for the other ESP."

_Step: TypeAlias = Filter | str
"""A filter, or the text of a default."""
_Reference: TypeAlias = tuple[str, tuple[str, ...], SourceField]
"""The code of content that shows a value, its caveats, and the field."""


@frozen
class _Pattern:
    """Code with a slot for the value, and the filter that it is. Without one, it is a default.

    `replaced` are the values of each type that a default replaces, too. `caveats` are about it.
    `shapes` are those of the tags that together show the value: they are read as one.
    """

    code: Expression
    filter: Filter | None
    replaced: Mapping[DataType, str] = {}
    caveats: Sequence[str] = ()
    shapes: Sequence[Expression] = ()


@define
class _Reading:
    """What is done with a value, from the last step to the first one."""

    steps: list[_Step] = Factory(list)
    caveats: list[str] = Factory(list)
    replaced: Mapping[DataType, str] = {}
    """The values of each type that a default replaces although they are not missing."""
    is_looked_up: bool = False
    """Whether a filter reads the value as a member."""
    is_escaped: bool = False
    """Whether a filter or function changes only how HTML or a link in the value is shown."""


@frozen
class Values:
    """Reads the values in the templates of an ESP."""

    profile: Profile
    fields: SourceFields
    _references: dict[tuple[object, Expression], _Reference | str] = field(init=False, factory=dict)
    """What equal values in the same loops have become, or why they are by hand."""

    def forget(self, fields: Collection[SourceField]) -> None:
        """Forget what values of these fields have become, and which values are by hand."""
        forgotten = set(map(id, fields))
        for key, found in [*self._references.items()]:
            if isinstance(found, str) or id(found[2]) in forgotten:
                del self._references[key]

    def reference(self, value: Expression) -> tuple[str, tuple[str, ...]]:
        """Return the code of content that shows the value, and its caveats. Raises: ByHand."""
        key = self.fields.loops, value
        if key not in self._references:
            try:
                self._references[key] = self._reference(value)
            except ByHand as reason:
                self._references[key] = str(reason)
        found = self._references[key]
        if isinstance(found, str):
            raise ByHand(found)
        return found[:2]

    def _reference(self, value: Expression) -> _Reference:
        reading = _Reading()
        source = self._peel(value, reading)
        filters: list[Filter] = []
        default = ""
        for step in reversed(reading.steps):
            if isinstance(step, str):
                default = default or step
                continue
            if not filters:
                self.fields.require(source, _TYPES.get(step.name, DataType.TEXT))
            if default and step.name in _OF_LISTS:
                raise ByHand(_FILTER.format(name=step.name.value))
            if default and find_type_error([step], DataType.TEXT) is None:
                default = str(apply_filters(default, [step]))
            filters.append(step)
        if default and not filters:
            self.fields.assume_text(source, default)
            values = self._replaced(source, reading)
            if values:
                reading.caveats.append(_REPLACED.format(title=self.profile.title, value=values))
        innermost = reading.steps[-1] if reading.steps else None
        if reading.is_looked_up and not isinstance(innermost, str):
            reading.caveats.append(_NONE.format(title=self.profile.title, key=source.key))
        parts = [source.reference, *map(str, filters)]
        if default:
            parts.append(f"default: {quoted(default)}")
        return f"{{{{{' | '.join(parts)}}}}}", tuple(reading.caveats), source

    def operand(self, value: Expression) -> SourceField | None:
        """Return the field whose value this is, also if it is guarded, or None.

        Raises: ByHand if it is a value that a filter changes.
        """
        reading = _Reading()
        try:
            source = self._peel(value, reading)
        except ByHand:
            if find_root(value) is None:
                return None
            raise
        if any(reading.steps) or reading.caveats or reading.is_escaped:
            raise refuse_changed(value)
        return source

    def find_fixed(self, value: Expression) -> Literal | None:
        """Return the text that filters make of one in the code, or None if that is not known."""
        if find_root(value) is not None:
            return None
        reading = _Reading()
        with suppress(ByHand):
            while not isinstance(value, Literal):
                value = self._inner(value, reading)
            filters = [each for each in reversed(reading.steps) if isinstance(each, Filter)]
            match value:
                case Literal(str() as text) if text and not (reading.caveats or reading.is_escaped):
                    if find_type_error(filters, DataType.TEXT) is None:
                        return Literal(str(apply_filters(text, filters)))
        return None

    def without_case_filters(self, value: Expression) -> Expression:
        """Return the value before filters that change letters: it is empty if the result is."""
        reading = _Reading()
        with suppress(ByHand):
            inner = self._inner(value, reading)
            match reading.steps:
                case [Filter(FilterName.UPPER | FilterName.LOWER | FilterName.TITLE)]:
                    return self.without_case_filters(inner)
        return value

    def compared(self, value: Expression) -> tuple[SourceField, DataType | None] | None:
        """Return the field that is compared, and the type as which its code reads it, or None.

        The profile of an ESP says how it reads numbers, booleans and dates before it compares them.
        Raises: ByHand.
        """
        for data_type, pattern in _readings(self.profile):
            slots: dict[str, Expression] = {}
            if match_code(pattern, value, slots):
                source = self.operand(slots[SLOT])
                return None if source is None else (source, data_type)
        source = self.operand(value)
        return None if source is None else (source, None)

    def replaced_values(self, value: Expression) -> str:
        """Return what a default in the value, also an empty one, replaces if it is not missing."""
        reading = _Reading()
        return self._replaced(self._peel(value, reading), reading)

    def _replaced(self, source: SourceField, reading: _Reading) -> str:
        data_type = self.fields.type_of(source)
        replaced = reading.replaced.items()
        return " and ".join(value for key, value in replaced if data_type in {key, None})

    def _peel(self, value: Expression, reading: _Reading) -> SourceField:
        """Return the field, and note the steps from the last one."""
        while (source := self.fields.find(value)) is None:
            value = self._inner(value, reading)
        reading.is_looked_up = isinstance(value, Filtered)
        return source

    def _inner(self, value: Expression, reading: _Reading) -> Expression:
        """Return the value before the last step."""
        for pattern in _patterns(self.profile).get(_outermost(value), ()):
            slots: dict[str, Expression] = {}
            if match_code(pattern.code, value, slots):
                reading.steps.append(self._step(pattern, slots))
                reading.replaced = pattern.replaced or reading.replaced
                reading.caveats += pattern.caveats
                return slots[SLOT]
        match value:
            case Filtered(inner, (*others, FilterCode(name) as last)):
                before = Filtered(inner, tuple(others)) if others else inner
                if name in UNCHANGED:
                    reading.is_escaped = True
                    if name == "safe":
                        reading.caveats.append(RAW_HTML.format(title=self.profile.title))
                    return before
                if name == "default_if_none":
                    text = _text(last.arguments)
                    if text:
                        reading.caveats.append(_NULL.format(title=self.profile.title))
                    reading.steps.append(text)
                    return before
                raise ByHand(self.fields.find_inserted(before) or self._explain(name))
            case Call(name, (inner,)) if name.lower() in UNCHANGED:
                reading.is_escaped = True
                return inner
            case Call(name):
                message = _JOINED if name.lower() == "concat" else _FILTER
                if name.lower() in self.profile.vocabulary.lookups:
                    message = _LOOKUP
                raise ByHand(message.format(name=name))
        raise ByHand(_EXPRESSION)

    def _step(self, pattern: _Pattern, slots: Mapping[str, Expression]) -> _Step:
        if pattern.filter is None:
            return _text((slots[DEFAULT],))
        name = pattern.filter.name
        match slots.get(str(pattern.filter.argument)):
            case None:
                return pattern.filter
            case Literal(str() | int() | float() as written) if not isinstance(written, bool):
                is_date = name is FilterName.DATE
                format_ = self.profile.filters.read_date(str(written)) if is_date else written
                found = parse_filter(name.value, format_)
                if isinstance(found, Filter):
                    return found
                raise ByHand(_FORMAT.format(written) if is_date else found.message)
        raise ByHand(_FILTER.format(name=name.value))

    def _explain(self, name: str) -> str:
        """Return why a filter is by hand."""
        forms = {key.value: form for key, form in self.profile.filters.forms.items()}
        reasons = {e.reason if isinstance(e, FilterRefusal) else None for e in forms.values()}
        match forms.get(name), [*reasons]:
            case (FilterRefusal(reason), _) | (_, [str() as reason]):  # The ESP has no filters.
                return (
                    f"{reason.format(title=self.profile.title)} Write this tag for the other ESP."
                )
        return _FILTER.format(name=name)


def quoted(text: str) -> str:
    """Return the text as a literal of content."""
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


def refuse_changed(value: Expression) -> ByHand:
    """Return the error that a condition reads a value that a filter or function changes."""
    name = _last_name(value)
    return ByHand(NO_CONDITION if name is None else _CHANGED.format(name=name))


def find_root(value: Expression) -> Path | None:
    """Return the path that filters and functions read first, or None."""
    match value:
        case Path():
            return value
        case Filtered(inner):
            return find_root(inner)
        case Call(_, (first, *_)):
            return find_root(first)
    return None


@cache
def _patterns(profile: Profile) -> Mapping[str | None, Sequence[_Pattern]]:
    """Return the codes of the filters and the default by their outermost filter or function.

    Those with the most parts are first.
    """
    found = [*_filter_patterns(profile), *_default_patterns(profile)]
    by_name: dict[str | None, list[_Pattern]] = {}
    for each in sorted(found, key=lambda each: -len(str(each.code))):
        by_name.setdefault(_outermost(each.code), []).append(each)
    return by_name


def _outermost(value: Expression) -> str | None:
    """Return the name of the filter or function that is applied last, in small letters."""
    name = _last_name(value)
    return None if name is None else name.lower()


def _last_name(value: Expression) -> str | None:
    match value:
        case Filtered(_, (*_, FilterCode(name))) | Call(name):
            return name
    return None


@cache
def _readings(profile: Profile) -> Sequence[tuple[DataType, Expression]]:
    """Return the codes that read values before comparisons, those with the most parts first."""
    found = []
    for data_type, reading in profile.conditions.readings.items():
        written = reading.expression.replace("{operand}", SLOT)
        expression = read_output(profile, profile.filters.output.replace("VALUE", written))
        if not isinstance(expression, Literal):
            found.append((data_type, expression))
    return sorted(found, key=lambda each: -len(str(each[1])))


def _filter_patterns(profile: Profile) -> Iterator[_Pattern]:
    bare = evolve(profile, filters=evolve(profile.filters, value="VALUE"))
    for name, form in profile.filters.forms.items():
        if isinstance(form, FilterRefusal):
            continue
        for other, caveat in form.others.items():
            code = other.replace("VALUE", SLOT).replace("ARGUMENT", LENGTH)
            if not form.is_output:
                code = profile.filters.output.replace("VALUE", code)
            argument, *_ = _ARGUMENTS.get(name, (None,))
            caveats = (caveat.format(title=profile.title),)
            yield _filter_pattern(profile, code, Filter(name, argument), caveats)
    for name in FilterName:
        data_type = _TYPES.get(name, DataType.TEXT)
        for argument in _ARGUMENTS.get(name, (None,)):
            written = Filter(name, argument)
            with suppress(NotInsertable):
                code = filter_code(bare, SLOT, [written], data_type).code
                yield _filter_pattern(profile, code, written)


def _filter_pattern(
    profile: Profile, code: str, written: Filter, caveats: Sequence[str] = ()
) -> _Pattern:
    expression = read_output(profile, code)
    if not isinstance(expression, Literal):
        return _Pattern(expression, written, caveats=caveats)
    shapes = [find_shape(each, code) for each in read_tree(profile, code)]
    joined = Call(f"joined {code}", (Path((SLOT,)), Literal(written.argument)))
    return _Pattern(joined, written, caveats=caveats, shapes=shapes)


def join_outputs(profile: Profile, nodes: Sequence[Node], text: str) -> tuple[Node, ...]:
    """Return the nodes, with one for the tags that together show a value with a filter."""
    patterns = _joined_patterns(profile)
    return tuple(_join(patterns, nodes, text)) if patterns else tuple(nodes)


@cache
def _joined_patterns(profile: Profile) -> Mapping[str | None, Sequence[_Pattern]]:
    """Return the codes of several tags by the name of the shape of the first one."""
    by_name: dict[str | None, list[_Pattern]] = {}
    for each in chain.from_iterable(_patterns(profile).values()):
        if each.shapes:
            by_name.setdefault(_outermost(each.shapes[0]), []).append(each)
    return by_name


def _join(
    patterns: Mapping[str | None, Sequence[_Pattern]], nodes: Sequence[Node], text: str
) -> Iterator[Node]:
    shapes = [find_shape(each, text) for each in nodes]
    index = 0
    while index < len(nodes):
        for pattern in patterns.get(_outermost(shapes[index]), ()):
            end = index + len(pattern.shapes)
            value = _match(pattern, shapes[index:end])
            if value is not None:
                first, *_, last = nodes[index], *nodes[index:end]
                starts = sorted({*chain.from_iterable(map(list_tags, walk(nodes[index:end])))})
                yield Output(first.start, last.end, value, others=tuple(starts[1:]))
                index = end
                break
        else:
            yield map_nodes(nodes[index], lambda inner: tuple(_join(patterns, inner, text)))
            index += 1


def _match(pattern: _Pattern, shapes: Sequence[Expression]) -> Expression | None:
    """Return the value that tags with these shapes show, if they have the form of the pattern."""
    slots: dict[str, Expression] = {}
    if not match_all(pattern.shapes, shapes, slots):
        return None
    length, less = slots.get(LENGTH), slots.get(LESS)
    match pattern.code, length:
        case _, Literal(int() as number) if less not in (None, Literal(number - 1)):
            return None
        case Call(name, (_, argument)), _:
            return Call(name, (slots[SLOT], length or argument))
    return None


def has_default_tag(profile: Profile) -> bool:
    """Return whether a tag shows a value with a default, and no block is necessary."""
    return not isinstance(read_output(profile, profile.insertion.with_default), Literal)


def _default_patterns(profile: Profile) -> Iterator[_Pattern]:
    insertion = profile.insertion
    usual = OtherDefault(
        insertion.with_default,
        insertion.source,
        insertion.default_also_replaces,
        insertion.default_caveat,
    )
    for each in (usual, *insertion.other_defaults):
        code = each.code.replace("EXPRESSION", SLOT).replace("DEFAULT", DEFAULT)
        expression = read_output(profile, code)
        if not isinstance(expression, Literal):
            caveats = () if each.caveat is None else (each.caveat.format(title=profile.title),)
            yield _Pattern(expression, None, each.also_replaces, caveats)


def _text(arguments: Sequence[Expression]) -> str:
    """Return the text of a default, which can be written as a number. Raises: ByHand."""
    match arguments:
        case (Literal(str() | int() as text),) if not isinstance(text, bool):
            return str(text)
    raise ByHand(_DEFAULT)
