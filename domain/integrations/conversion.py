"""Convert templates: read the code of one ESP, and write that of another, or portable content."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from html import escape
from itertools import chain, islice

from attrs import evolve, field, frozen

from ..arguments import require_type
from ..conditions import LocatedViolation
from ..conditions.literals import to_scalar
from ..conditions.tree import condition_keys
from ..content import Content, ContentWarning, InvalidContent, Surface, read_content
from ..content.checks import require_fields
from ..content.errors import MAX_VIOLATIONS
from ..content.html import Html, Kind
from ..content.resolution import EMAIL_KEY, FieldResolver
from ..content.system_values import SYSTEM_VALUES, SystemValue
from ..content.tree import Lines
from ..content.warning_codes import WarningCode
from ..data_paths import DataPath
from ..errors import InvalidInput, Rule, Violation, Violations
from ..esp.content.export import ContentExporter
from ..esp.content.options import ExportOptions, to_surface
from ..esp.conversion.code import has_code, read_tags, read_tree
from ..esp.conversion.document import Document
from ..esp.conversion.outcomes import ConvertedTag, Outcome
from ..esp.conversion.reader import DROPPED, Reader, Result
from ..esp.conversion.source_fields import EVENT_DATA, SourceField, SourceFields, list_names
from ..esp.conversion.values import Values, join_outputs
from ..esp.data_codes import name_variable
from ..esp.derived_codes import require_plain_text
from ..esp.errors import NoSafeForm
from ..esp.languages.blocks import Certainty, Tag
from ..esp.languages.tree import Node, Opaque, Output, Path, find_unread
from ..esp.names import PORTABLE, Bare, Esp, Target
from ..esp.profiles import BUILT_IN, Profiles
from ..esp.profiles.profile import Profile
from ..esp.recognition.tags import recognize_dialects
from ..fields.field import FieldDraft
from ..fields.unstored import define_fields
from ..fields.values import DataType, FieldKey, Scalar
from ..identity import IntegrationId
from ..text import MAX_LINE_LENGTH, character_violation, line_violation
from .codes import FieldCodes
from .integration import Integration, SetName

__all__ = [
    "Conversion",
    "ConversionOptions",
    "ConvertedTag",
    "Outcome",
    "UsedField",
    "convert",
]

_RECOGNIZED = 50_000
"""The characters of a text in which tags of other ESPs are searched."""
_MAX_ROUNDS = 12
"""The readings of one template. The later ones know what its last tags mean, and what stays."""
_MAX_READ = 35_000
"""The tags of all these readings."""

MAX_TAGS = 10_000
"""The tags and statements of a template, and other places: one per 100 characters of content."""

_VALUE = r"""(?:"[^"<>{}%|]*"|'[^'<>{}%|]*')"""
"""The value of an attribute, without code."""

_WEB_ADDRESS = re.compile(r"https?://[^\s\"'<>\\^`{|}]+", re.IGNORECASE)
_NO_LINK = Violation(
    Rule.FORMAT,
    "Use a web address, such as https://example.com/preferences, or one tag of the other ESP.",
)
_CODE = re.compile(r"[{}|%<]")
"""A character in each tag of the ESPs. The target decides whether the text is one."""
_WORD = re.compile(r"\w+")

_IS_CONTENT = "This text is code of content. Remove it, or write it in another way."
_READ_AS_CODE = "{title} reads this text as code. {keeping}"
_REMOVE = "Remove it, or write it in another way."
_ASSUMED = "The name of {key} at {title} is assumed. Compare it with the account."
_HABIT = "`{name}` is read as {key}, which accounts at {title} usually have. Check the account."
_SHORT = (
    "The name {name} of {key} at {title} is assumed. Compare it with the account, or give another"
    " key in a file of names, as in `{line}`."
)
_ALIAS = (
    "`{name}` and `{alias}` are read as one field. If they are two, give one of them another key in"
    " a file of names."
)
_ABOUT_NAMES = {WarningCode.ASSUMED_NAME, WarningCode.UNKNOWN_NAME}

_OVERWRITTEN = "The code for {title} sets the variable `{name}`, too. Rename it in this template."
_TOO_MANY_TAGS = f"The template has more than {MAX_TAGS:,} tags. Convert parts of it."
_TOO_MANY = "The template has too many tags, and the other ESP refuses some. Convert parts of it."


def _to_bare(bare: Bare | str | None) -> Bare | None:
    return None if bare is None else Bare(bare)


def _value_violation(name: str, text: str) -> Violation | None:
    """Return a violation unless this is a value with its name, for each ESP."""
    if name not in SYSTEM_VALUES:
        return Violation(Rule.UNKNOWN_VALUE, f"Use one of {', '.join(SYSTEM_VALUES)}.")
    if _CODE.search(text) is None and not _is_link(name, text):
        return _NO_LINK
    return line_violation(text, max_length=MAX_LINE_LENGTH)


def _is_link(name: str, text: str) -> bool:
    """Return whether this can be the text of the value, if it is that of a link."""
    return not name.startswith("link.") or _WEB_ADDRESS.fullmatch(text) is not None


def _to_code(profile: Profile, name: str, text: str, *, is_html: bool) -> str:
    """Return the code of a value that is given. Raises: NoSafeForm if the ESP could misread it."""
    if _is_tag(profile, text):
        return text
    if "{{" in text or has_code(profile, text):
        message = f"Use text without code, or exactly one tag of {profile.title}."
        raise NoSafeForm([Violation(Rule.INVALID_CHARACTERS, message)])
    require_plain_text(profile, text)
    if not _is_link(name, text):
        raise NoSafeForm([_NO_LINK])
    return escape(text) if is_html else text


def _is_tag(profile: Profile, text: str) -> bool:
    """Return whether the text is one tag of the ESP that shows something, and none of content."""
    match read_tree(profile, text):
        case (Output(),) if has_code(profile, text):
            content = read_content(text)
            return not any(content.references()) and not any(content.system_references())
        case (Opaque(name=name, nodes=None),):
            return name in profile.vocabulary.system_tags
    return False


@frozen(kw_only=True)
class ConversionOptions:
    """How templates are converted.

    `names` are the keys that names at the source mean. `values` are links, the sender and
    the year, by their names in content such as `sender.name`, for ESPs that have no code for them:
    each is a text, or one tag of the ESP.
    `surface` is where an email shows the text, as in an export. If `exact` is true, tests of values
    stay by hand if no code is right for each type, instead of having a caveat. If `strict` is true,
    tags that have a caveat or stay by hand are violations. `sent_by` is the way in which the other
    ESP sends the message, as in an export. `sent_by_source` is that of the source, if it has
    several: other event data stay by hand. `bare` is what names mean that can be fields or event
    data, "field" or "event"; without it, tags with such a name stay by hand.

    Raises: InvalidInput if a key in `names` is none, if `values` has another name, or if a value is
    no line of text or, of a link, no web address; TypeError if an option has another type;
    ValueError if `surface` or `bare` has another value.
    """

    names: Mapping[str, str] = {}
    values: Mapping[str, str] = {}
    surface: Surface | None = field(default=None, converter=to_surface)
    exact: bool = False
    strict: bool = False
    sent_by: str | None = None
    sent_by_source: str | None = None
    bare: Bare | None = field(default=None, converter=_to_bare)

    def __attrs_post_init__(self) -> None:
        require_type(Mapping, names=self.names, values=self.values)
        require_type(bool, exact=self.exact, strict=self.strict)
        require_type(str | None, sent_by=self.sent_by, sent_by_source=self.sent_by_source)
        violations = Violations()
        for name, key in self.names.items():
            with violations.collect("names", name):
                if EVENT_DATA.fullmatch(key) is None:
                    FieldKey(key)
        for name, text in self.values.items():
            violation = _value_violation(name, text)
            if violation is not None:
                violations.append(evolve(violation, path=("values", name)))
        if violations:
            raise InvalidInput(violations)


@frozen(kw_only=True)
class UsedField:
    """A field that the template uses. `values` are those that it compares with."""

    key: str
    name: str
    data_type: DataType
    values: tuple[Scalar, ...] = ()


@frozen(kw_only=True)
class Conversion:
    """A converted template.

    `tags` are all tags of the source, in order, or the statements of those that have several, and
    `counts` their numbers by outcome, for all outcomes. `fields` are those that the content uses.
    `unused_names` are those of the option `names` that the template does not have, such as
    misspelled ones. `warnings` are about the content as a whole, or about text outside of its tags.
    """

    content: str
    counts: Mapping[Outcome, int]
    tags: tuple[ConvertedTag, ...]
    fields: tuple[UsedField, ...]
    unused_names: tuple[str, ...] = ()
    warnings: tuple[ContentWarning, ...]

    @property
    def names(self) -> Mapping[str, str]:
        """The keys by the names at the source, as the option `names` takes them."""
        return {each.name: each.key for each in self.fields}


def convert(
    text: str,
    *,
    read: Target | str,
    write: Target | str,
    options: ConversionOptions = ConversionOptions(),
    codes: FieldCodes | None = None,
    profiles: Profiles = BUILT_IN,
) -> Conversion:
    """Return a template of the ESP `read` in the language of the ESP `write`, or as content.

    `write` can be "portable", for content. The text outside of tags does not change. `codes` are
    those of an organization: then both can be integrations, the names are those at them, and other
    names stay by hand. Their profiles apply.

    Raises: InvalidContent if no tag of the text is one of that ESP, if the target refuses too many
    tags, if the text contains U+0000 or a lone surrogate, or, with `strict`, for each tag that has
    a caveat or is by hand; NoSafeForm if a value of the options is neither text nor one tag of the
    target; ValueError if there is no such ESP; as FieldCodes do for a target.
    """
    require_type(str, text=text)
    require_type(Esp | str | int, read=read, write=write)
    require_type(FieldCodes | None, codes=codes)
    require_type(Profiles, profiles=profiles)
    require_type(ConversionOptions, options=options)
    fields = FieldCodes.of((), profiles=profiles) if codes is None else codes
    source = fields.names.resolve_target(read)
    target = None if write == PORTABLE else fields.names.resolve_target(write)
    return _Conversion(text, source, target, options, fields, has_fields=codes is not None).run()


class _Conversion:
    """One run of `convert`."""

    def __init__(
        self,
        text: str,
        source: Target,
        target: Target | None,
        options: ConversionOptions,
        codes: FieldCodes,
        *,
        has_fields: bool,
    ) -> None:
        self._text, self._lines = text, Lines(text)
        self._source = codes.names.get_profile(source)
        self._target = None if target is None else codes.names.get_profile(target)
        self._written_for, self._has_fields = target, has_fields
        self._codes, self._profiles = codes, codes.names.profiles
        self._options = options
        fold = self._source.vocabulary.fold
        mark = self._source.vocabulary.variable_mark
        variables = {f"{mark}{name}": key for name, key in options.names.items() if mark}
        names = {**_names_at(source, codes), **variables, **options.names}
        self._names = {fold(name): key for name, key in names.items()}
        self._short_names: Mapping[str, str] = {}
        """The names at the target of the keys that can be none there."""
        self._refused: dict[int, str] = {}
        self._copied: set[str] = set()
        self._texts: dict[tuple[int, int], Result] = dict.fromkeys(
            islice(self._find_dropped(), MAX_TAGS + 1), DROPPED
        )
        self._stripped: dict[tuple[int, int], None] = {}
        """The places of text that the source does not show."""
        violation = character_violation(text)
        if violation is not None:
            raise InvalidContent([self._lines.position(0).locate(violation)])

    def run(self) -> Conversion:
        """Return the conversion. What the target refuses stays by hand, and the rest is tried."""
        tags = list(islice(self._source.find_tags(self._text), MAX_TAGS + 1))
        count = sum(max(len(each.parts), 1) for each in tags)
        self._require_few(count)
        self._require_source(tags)
        nodes = join_outputs(self._source, read_tags(tags, self._text), self._text)
        link = self._source.link_to_all
        shown = (part.value for tag in tags for part in tag.parts if isinstance(part, Output))
        fields = SourceFields(
            self._source,
            self._names,
            self._codes.names.by_key,
            self._options.bare,
            self._options.sent_by_source,
            frozenset(list_names(nodes, self._source.vocabulary)),
            bool(link) and Path((link,)) in shown,
        )
        values = Values(self._source, fields)
        rules = self._source.adjacent_text
        if rules.find_stripped is not None and not self._is_html:
            self._stripped = dict.fromkeys(rules.find_stripped(self._text, tags))
        if rules.escape:
            escape, opening = map(re.escape, (rules.escape, self._source.conditions.tag[0]))
            escapes = re.finditer(f"(?<={escape}){escape}(?={opening})", self._text)
            self._stripped.update(dict.fromkeys(each.span() for each in escapes))
        parts = {part.start: tag for tag in tags if len(tag.parts) > 1 for part in tag.parts[1:]}
        is_broken = any(each.is_alone for each in find_unread(nodes))
        for _ in range(min(_MAX_ROUNDS, _MAX_READ // max(count, 1))):
            reader = self._read(nodes, values, parts, is_broken=is_broken)
            to_copy, unsettled = reader.to_copy, fields.forget_unsettled()
            if unsettled or not self._copied.issuperset(to_copy):
                self._copied.update(to_copy)
                values.forget(unsettled)
                continue
            refused = {
                **dict(reader.find_blocks_to_keep(nodes)),
                **reader.poisoned,
                **reader.poisoning,
            }
            if not refused.keys() <= self._refused.keys():
                self._refused.update(refused)
                continue
            document = Document.of(reader.pieces)
            content = read_content(document.text)
            kept = dict(islice(self._find_kept_texts(content, document), MAX_TAGS + 1))
            if not kept.keys() <= self._texts.keys():
                self._texts.update(kept)
                self._require_few(count)
                continue
            try:
                written, warnings = self._write(content, fields, reader)
                break
            except InvalidContent as invalid:
                self._refuse(invalid, content, document)
        else:
            raise self._invalid(Rule.TOO_MANY_ITEMS, _TOO_MANY)
        others = tuple(self._report_warnings(warnings, content, document, reader))
        self._report_fields(content, document, reader, fields)
        reported = tuple(self._report(tags, reader))
        if self._options.strict:
            _require_converted(reported)
        counted = Counter(each.outcome for each in reported)
        return Conversion(
            content=document.restore(written),
            counts={outcome: counted[outcome] for outcome in Outcome},
            tags=reported,
            fields=tuple(_used(content, fields)),
            unused_names=tuple(self._find_unused_names(fields, reader)),
            warnings=others,
        )

    def _find_unused_names(self, fields: SourceFields, reader: Reader) -> Iterator[str]:
        """Yield the given names that no tag reads. Blocks by hand can read those of their words."""
        fold, mark = self._source.vocabulary.fold, self._source.vocabulary.variable_mark
        kept = {w for p in reader.pieces if p.is_kept for w in _WORD.findall(fold(p.text))}
        for name in self._options.names:
            words = _WORD.findall(fold(name))
            is_read = not fields.read_names.isdisjoint({fold(name), fold(f"{mark}{name}")})
            if not is_read and not kept.issuperset(words):
                yield name

    def _require_few(self, count: int) -> None:
        """Require few tags, with the other places. Raises: InvalidContent."""
        if count + len(self._texts) > MAX_TAGS:
            raise self._invalid(Rule.TOO_MANY_ITEMS, _TOO_MANY_TAGS)

    def _require_source(self, tags: Sequence[Tag]) -> None:
        """Require that the text is a template of the source. Raises: NotThatEsp."""
        if any(tag.unread is None and tag.certainty is not Certainty.POSSIBLE for tag in tags):
            return
        likely = recognize_dialects(self._text[:_RECOGNIZED], self._profiles)
        if not likely or self._source.esp in likely:
            return
        titles = ", ".join(f"{self._profiles[each].title} ({each})" for each in likely)
        message = f"This is no template of {self._source.title}. It can be one of {titles}."
        raise self._invalid(Rule.NOT_APPLICABLE, message)

    def _read(
        self,
        nodes: Sequence[Node],
        values: Values,
        parts: Mapping[int, Tag],
        *,
        is_broken: bool,
    ) -> Reader:
        places = {**self._stripped, **self._texts}
        reader = Reader(
            text=self._text,
            lines=self._lines,
            profile=self._source,
            target=self._target,
            values=values,
            exact=self._options.exact,
            is_html=self._is_html,
            html=self._html,
            given=self._given,
            refused=self._refused,
            texts=[(*place, places[place]) for place in sorted(places)],
            parts=parts,
            is_broken=is_broken,
            copied=frozenset(self._copied),
        )
        reader.read(nodes)
        return reader

    def _invalid(self, rule: Rule, message: str) -> InvalidContent:
        return InvalidContent([self._lines.violation(0, rule, message)])

    @cached_property
    def _html(self) -> Html:
        return Html(self._text)

    @cached_property
    def _is_html(self) -> bool:
        surface = self._options.surface
        return self._html.has_tags if surface is None else surface is Surface.HTML

    @cached_property
    def _given(self) -> Mapping[SystemValue, str]:
        """The codes of the values that are given, and for which the target has none.

        Raises: NoSafeForm if one of them is neither one tag of the target nor text.
        """
        given: dict[SystemValue, str] = {}
        violations = Violations()
        for name, text in self._options.values.items():
            value, target = SYSTEM_VALUES[name], self._target
            if target is not None and isinstance(target.find_system_code(value), str):
                with violations.collect("values", name):
                    given[value] = _to_code(target, name, text, is_html=self._is_html)
        if violations:
            raise NoSafeForm(violations)
        return given

    def _find_dropped(self) -> Iterator[tuple[int, int]]:
        """Yield the places of attributes that only the editor of the source reads."""
        dropped = self._source.dropped
        if dropped is not None and dropped.attributes:
            names = "|".join(map(re.escape, dropped.attributes))
            for found in re.finditer(rf"\s(?:{names})(?:={_VALUE})?(?=[\s/>])", self._text):
                if self._html.at(found.start() + 1).kind in {Kind.TAG, Kind.ATTRIBUTE}:
                    yield found.span()

    def _find_kept_texts(
        self, content: Content, document: Document
    ) -> Iterator[tuple[tuple[int, int], Result]]:
        """Yield the places in the source at which text outside of tags would be read as code."""
        references = (each.start for each in content.references())
        system_references = (each.start for each in content.system_references())
        for start in chain(references, system_references):
            if not document.is_code(start):
                end = content.source.index("}}", start) + 2
                place = document.find_start(start), document.find_start(end)
                yield place, Result(Outcome.BY_HAND, (_IS_CONTENT,))
        if self._target is not None:
            keeping = self._target.keeping or _REMOVE
            reason = _READ_AS_CODE.format(title=self._target.title, keeping=keeping)
            result = Result(Outcome.BY_HAND, (reason,))
            for tag in self._target.find_tags(content.masked):
                if tag.certainty is not Certainty.POSSIBLE and not document.is_code(tag.start):
                    place = document.find_start(tag.start), document.find_start(tag.end)
                    yield place, result

    def _write(
        self, content: Content, fields: SourceFields, reader: Reader
    ) -> tuple[str, Sequence[ContentWarning]]:
        """Return the code of the target, and the warnings. Raises: InvalidContent."""
        codes, written_for = self._codes, self._written_for
        if not self._has_fields:
            drafts = (
                FieldDraft(name=each.key, key=each.key, data_type=each.data_type)
                for each in _used(content, fields)
            )
            codes = FieldCodes.of(define_fields(drafts), profiles=self._profiles)
            if isinstance(written_for, Esp):
                codes, written_for = self._with_short_names(codes, written_for)
        if written_for is None:
            resolver = FieldResolver(codes.names.by_key, explain_key=codes.names.explain_key)
            require_fields(content, resolver)
            return content.source, content.warnings
        variables = {*reader.kept_variables.values(), *reader.copied}
        violations = [*self._find_overwritten(content, variables)]
        if violations:
            raise InvalidContent(violations)
        options = ExportOptions(
            surface=self._options.surface, strict=False, sent_by=self._options.sent_by
        )
        exporter = ContentExporter(content, options, self._profiles)
        exported = exporter.export(codes, written_for, reader.presences)
        return exported.content, exported.warnings

    def _with_short_names(self, codes: FieldCodes, esp: Esp) -> tuple[FieldCodes, Target]:
        """Return the codes with a name for each field, and where the fields have these names.

        A key can be too long for a name, or be reserved: then a proposed name is set.
        """
        fields, proposed = codes.names.fields, codes.propose_names(esp)
        self._short_names = {e.key: proposed[e.id] for e in fields if e.id in proposed}
        if not proposed:
            return codes, esp
        integration = Integration(
            id=IntegrationId(1),
            organization_id=fields[0].organization_id,
            esp=esp,
            name=esp,
            created_at=fields[0].created_at,
            names={field_id: SetName(name) for field_id, name in proposed.items()},
        )
        return FieldCodes.of(fields, [integration], self._profiles), integration.id

    def _find_overwritten(
        self, content: Content, variables: Collection[str]
    ) -> Iterator[LocatedViolation]:
        """Yield the conditions whose code would set one of the variables that stay."""
        if self._target is None or not variables:
            return
        readings = self._target.conditions.readings.values()
        forms = {each.variable for each in readings if each.variable is not None}
        for branch in content.branches():
            keys = () if branch.condition is None else condition_keys(branch.condition)
            stems = [name_variable(key) if isinstance(key, DataPath) else key for key in keys]
            names = {form.format(key=stem) for stem in stems for form in forms}
            for name in sorted(names & {*variables}):
                message = _OVERWRITTEN.format(title=self._target.title, name=name)
                yield content.lines.violation(branch.start, Rule.NOT_APPLICABLE, message)

    def _refuse(self, invalid: InvalidContent, content: Content, document: Document) -> None:
        """Leave the tags of the violations as they are. Raises: InvalidContent if there is none."""
        before = len(self._refused)
        for violation in invalid.violations:
            if isinstance(violation, LocatedViolation):
                owner = document.find_owner(content.lines.offset_of(violation.position))
                if owner is not None:
                    self._refused[owner] = violation.reason
        if len(self._refused) == before:
            raise invalid

    def _report_warnings(
        self,
        warnings: Iterable[ContentWarning],
        content: Content,
        document: Document,
        reader: Reader,
    ) -> Iterator[ContentWarning]:
        """Add the warnings about tags to their results, and yield the others."""
        for warning in warnings:
            is_about_name = warning.code in _ABOUT_NAMES and not self._has_fields
            if is_about_name or warning.code is WarningCode.CHANGED_EXPORT:
                continue  # No earlier version has converted a template.
            for position in (warning.position, *warning.places):
                offset = content.lines.offset_of(position)
                if document.is_code(offset):
                    if warning.code is WarningCode.UNKNOWN_WORD:
                        continue  # This is a variable of a tag that is copied.
                    reader.add_caveat(document.find_start(offset), warning.message)
                else:
                    at = self._lines.position(document.find_start(offset))
                    own = evolve(warning, line=at.line, column=at.column, places=())
                    if self._target is not None:
                        own = evolve(own, message=self._target.with_own_link(own.message))
                    yield own

    def _report_fields(
        self, content: Content, document: Document, reader: Reader, fields: SourceFields
    ) -> None:
        """Add the caveats about fields to each tag that uses them."""
        found = {each.key: each for each in fields.found}
        for start, keys in _uses(content):
            for key in keys:
                for caveat in self._field_caveats(found.get(key, SourceField(key, ""))):
                    reader.add_caveat(document.find_start(start), caveat)

    def _field_caveats(self, used_field: SourceField) -> Iterator[str]:
        """Yield that a name is not established, and how values of a field differ."""
        source, target = self._source, self._target
        key, name = used_field.key, used_field.name
        if used_field.alias is not None:
            yield _ALIAS.format(name=name, alias=used_field.alias)
        used = [(source, name)]
        if target is not None:
            standard = target.names.standard_fields.get(key, "")
            used.append((target, standard))
            is_standard = standard not in {"", *target.names.conventional}
            is_known = key == EMAIL_KEY or isinstance(key, DataPath) or is_standard
            if not (is_known or self._has_fields):
                short = self._short_names.get(key)
                if short is None:
                    yield _ASSUMED.format(key=key, title=target.title)
                else:
                    line = f"{name}: {short.lower()}"
                    yield _SHORT.format(name=short, key=key, title=target.title, line=line)
            if target.esp == source.esp:
                return
        for profile, each in used:
            if each in profile.names.differing_values:
                yield profile.names.differing_values[each].format(title=profile.title)
        conventional = map(source.vocabulary.fold, source.names.conventional)
        if source.vocabulary.fold(name) in conventional and not used_field.is_given:
            yield _HABIT.format(name=name, key=key, title=source.title)

    def _report(self, tags: Iterable[Tag], reader: Reader) -> Iterator[ConvertedTag]:
        """Yield the tags with their results: each statement, if a tag has several."""
        places = [(start, start, end) for start, end in self._texts]
        for tag in tags:
            first, *others = tag.parts
            place = (first.start, first.end) if others else (tag.start, tag.end)
            places.append((tag.start, *place))
            places += [(each.start, each.start, each.end) for each in others]
        for owner, start, end in sorted(places):
            result = reader.results.get(owner, _CONSEQUENCE)
            yield ConvertedTag(
                position=self._lines.position(start),
                text=self._text[start:end],
                outcome=result.outcome,
                reasons=result.reasons,
            )


def _require_converted(tags: Iterable[ConvertedTag]) -> None:
    violations = [
        each.position.locate(Violation(Rule.NOT_APPLICABLE, " ".join(each.reasons)))
        for each in tags
        if each.outcome in {Outcome.CAVEAT, Outcome.BY_HAND}
    ]
    if violations:
        raise InvalidContent(violations[:MAX_VIOLATIONS])


_CONSEQUENCE = Result(Outcome.CONSEQUENCE)
"""That of a tag in a block that stays."""


def _names_at(source: Target, codes: FieldCodes) -> Mapping[str, str]:
    """Return the keys by the names at the source. API and manual fields have precedence."""
    names = {}
    fields = sorted(codes.names.fields, key=lambda each: each.origin.integration_id is None)
    for each in fields:
        name = codes.names.find(each, source)
        if name is not None:
            names[name.name] = str(each.key)
    return names


def _uses(content: Content) -> Iterator[tuple[int, Iterable[str]]]:
    """Yield the offsets of the tags with fields, and the keys of these."""
    for reference in content.references():
        yield reference.start, (reference.key,)
    for branch in content.branches():
        if branch.condition is not None:
            yield branch.start, dict.fromkeys(condition_keys(branch.condition))


def _used(content: Content, fields: SourceFields) -> Iterator[UsedField]:
    """Yield the fields of the content."""
    keys = frozenset(content.keys())
    for source in fields.found:
        if source.key in keys:
            yield UsedField(
                key=source.key,
                name=source.name,
                data_type=fields.type_of(source) or DataType.TEXT,
                values=tuple(map(to_scalar, source.values)),
            )
