"""Code of other dialects: which tags the ESP does not read, and why."""

from __future__ import annotations

import re
from collections.abc import Callable, Container, Iterator
from enum import Enum

from attrs import frozen

from ..esps import Esp
from ..profiles import BUILT_IN, PROFILES
from ..profiles.profile import Delimiter, Syntax, Vocabulary
from .delimiters import RawTag
from .expressions import Expression, Path
from .reading import has_delimiter, parse


class Reason(Enum):
    """Why a tag is not, or may not be, code of an ESP."""

    DELIMITER = "the ESP has no tags with these delimiters"
    WORD = "other dialects have this word, and the ESP does not"
    UNKNOWN = "the ESP has no value, tag or filter with this name"
    POSSIBLY_FOREIGN = "other dialects have this word, but it can also be a name in the ESP's data"


@frozen
class Finding:
    """What is wrong with a tag: `word`, which the `dialects` have. It is a mistake or a caveat."""

    reason: Reason
    word: str
    dialects: tuple[Esp, ...] = ()
    is_mistake: bool = False


_PIPED = {Syntax.LIQUID, Syntax.DJANGO, Syntax.HUBL}


def _with(has: Callable[[Vocabulary], bool]) -> tuple[Esp, ...]:
    """Return the ESPs whose vocabulary has this."""
    return tuple(each.esp for each in BUILT_IN if has(each.vocabulary))


WITH_BRACES = _with(lambda each: each.syntax in {*_PIPED, Syntax.HANDLEBARS})
_WITH_HELPERS = _with(lambda each: each.syntax is Syntax.HANDLEBARS)
_WITH_PERCENT_TAGS = _with(lambda each: each.syntax is Syntax.PERCENT_TAGS)
_WITH_QUOTED_PARTS = _with(lambda each: each.syntax is Syntax.AMPSCRIPT)
_WITH_PATHS = _with(lambda each: each.has_field_paths)
_WITH_INTERPOLATION = _with(lambda each: each.has_interpolation)
_LINK = re.compile(
    r"unsub|opt_?out|mirror|preference|web_?version|view_?(?:in|as|online)|_browser|subscription",
    re.IGNORECASE,
)
"""Names that mean a link to leave the list, or to show the email, in any dialect."""
_OPERATOR = re.compile(r"\b(?:if|is|in|and|or|not)\b")
_LIST_OF_ONE_NAME = re.compile(r"""\{\{[~-]?\s*+\[(?!\d++\])[^\[\]"',]++\](?!\s*+\|)""")
"""A name of Iterable, `{{[First Name]}}`. Lists of HubL have commas, quotes or a filter."""
_QUOTED_PART = re.compile(r"""\{\{\s*+\w++(?>(?:\.[\w-]++)*)\.["']""")
"""The beginning of a path with a quoted part, which Salesforce has, and Handlebars has not."""
_TEXT_OF_TAG = re.compile(r"""\{%-?\s*+\w++\s*+["']""")
_ARGUMENTS = {
    Syntax.LIQUID: ("", ":"),
    Syntax.DJANGO: ("", ":"),
    Syntax.HUBL: ("", "("),
    Syntax.HANDLEBARS: (),
}
"""What can follow the name of a filter."""


def judge_tag(esp: Esp | None, tag: RawTag, local_names: Container[str] = ()) -> Finding | None:
    """Return what is most certainly wrong with a tag in content for the ESP, or None.

    Without an ESP, no tag is right. `local_names` are the names that other tags of the content set.
    """
    if esp is None or not has_delimiter(esp, tag):
        return _judge_delimiter(tag)
    vocabulary = PROFILES[esp].vocabulary
    has_words = (
        tag.delimiter is not Delimiter.COMMENT and tag.delimiter not in vocabulary.delimiters
    )
    if esp not in WITH_BRACES or not has_words:
        return None
    first = None
    for finding in _Judge(esp, vocabulary, tag, local_names).findings():
        if finding.is_mistake:
            return finding
        first = first or finding
    return first


def names_set_by(esp: Esp, tag: RawTag) -> tuple[str, ...]:
    """Return the names that a tag of the ESP gives to values."""
    if esp not in WITH_BRACES or not has_delimiter(esp, tag):
        return ()
    return tuple(parse(PROFILES[esp].vocabulary.syntax, tag).sets)


def _judge_delimiter(tag: RawTag) -> Finding | None:
    """Judge a tag whose delimiters the ESP does not have."""
    if tag.delimiter is Delimiter.PERCENT_TAG:
        return _judge_percent_tag(tag)
    dialects = tuple(each.esp for each in BUILT_IN if _recognizes(each.esp, tag))
    if tag.delimiter is Delimiter.LEGACY_TAG:  # It can be a text in brackets.
        return Finding(Reason.POSSIBLY_FOREIGN, tag.text, dialects)
    return Finding(Reason.DELIMITER, tag.delimiter.value, dialects, is_mistake=True)


def _judge_percent_tag(tag: RawTag) -> Finding | None:
    """Judge `%NAME%`, which is code of another ESP if the name is known. `%Y%` is a date."""
    name = re.split(r"[|*:+]", tag.text[1:-1])[0]
    if len(name) == 1:
        return None
    vocabularies = [PROFILES[each].vocabulary for each in _WITH_PERCENT_TAGS]
    is_known = any(each.is_system(name) or name in each.bare_fields for each in vocabularies)
    reason = Reason.DELIMITER if is_known else Reason.POSSIBLY_FOREIGN
    return Finding(reason, f"%{name}%", _WITH_PERCENT_TAGS, is_mistake=is_known)


def _recognizes(esp: Esp, tag: RawTag) -> bool:
    """Return whether the tag is certainly in the dialect of the ESP, or can be in it."""
    if not has_delimiter(esp, tag):
        return False
    finding = judge_tag(esp, tag)
    return finding is None or not (finding.is_mistake or finding.reason is Reason.POSSIBLY_FOREIGN)


def _is_known(vocabulary: Vocabulary, path: Path) -> bool:
    """Return whether the path has a meaning. In Braze, none has: its values are in `${…}`."""
    root = path[0]
    return (
        root in vocabulary.known_roots
        or (len(path) > 1 and root in vocabulary.roots)
        or vocabulary.is_system(".".join(path))
    )


class _Judge:
    """The judgement of one tag with braces."""

    def __init__(
        self, esp: Esp, vocabulary: Vocabulary, tag: RawTag, local_names: Container[str]
    ) -> None:
        self.esp, self.vocabulary, self.tag, self.local_names = esp, vocabulary, tag, local_names
        self.expression = parse(vocabulary.syntax, tag)

    def findings(self) -> Iterator[Finding]:
        """Yield what is wrong with the tag."""
        yield from self._interpolations()
        if self.vocabulary.syntax is Syntax.HANDLEBARS:
            if _QUOTED_PART.match(self.tag.text) is not None:
                yield Finding(Reason.WORD, '."…"', _WITH_QUOTED_PARTS, is_mistake=True)
            yield from self._helpers(self.expression)
            if len(self.expression.paths) > 1 and not self.expression.helpers:
                yield Finding(Reason.UNKNOWN, ".".join(self.expression.paths[1]))
        else:
            yield from self._word()
            if self.tag.delimiter is Delimiter.EXPRESSION:
                yield from self._foreign_helpers()
        if not self.expression.is_parsed:
            return
        yield from self._calls()
        yield from self._filters()
        for path in dict.fromkeys(self.expression.paths):
            yield from self._path(path)

    def _interpolations(self) -> Iterator[Finding]:
        if self.vocabulary.has_interpolation:
            return
        inner = self.tag.text[2:]
        if "${" in inner:
            yield Finding(Reason.WORD, "${…}", _WITH_INTERPOLATION, is_mistake=True)
        elif self.tag.delimiter is Delimiter.STATEMENT and "{{" in inner:
            yield Finding(Reason.WORD, "{{…}}", _WITH_INTERPOLATION, is_mistake=True)

    def _word(self) -> Iterator[Finding]:
        word = self.expression.word
        if _TEXT_OF_TAG.match(self.tag.text) is not None:
            yield from self._text_of_tag(word)
        own = self.vocabulary.tags | self.vocabulary.system_tags
        if not word or word in own or word.removeprefix("end") in own:
            return
        yield self._of_others(word, lambda each: each.tags | each.system_tags, _PIPED)

    def _text_of_tag(self, word: str) -> Iterator[Finding]:
        """Yield a tag with the text of a link, if only other dialects have such a tag."""
        owners = tuple(
            esp for esp in WITH_BRACES if word in PROFILES[esp].vocabulary.tags_with_text
        )
        if owners and self.esp not in owners:
            yield Finding(Reason.POSSIBLY_FOREIGN, f"{word} '…'", owners)

    def _helpers(self, expression: Expression) -> Iterator[Finding]:
        for helper in dict.fromkeys((expression.word, *expression.helpers)):
            if helper and helper not in self.vocabulary.tags and not helper.startswith("@"):
                yield self._of_others(helper, lambda each: each.tags, {Syntax.HANDLEBARS})

    def _foreign_helpers(self) -> Iterator[Finding]:
        """Yield the helpers of Handlebars in a tag of another language, such as `{{upper x}}`."""
        helpers = dict.fromkeys(parse(Syntax.HANDLEBARS, self.tag).helpers)
        calls = set(self.expression.calls)
        others = [each for each in helpers if each not in calls]
        if others and _OPERATOR.search(self.tag.text) is None:
            for helper in others:
                yield self._of_others(helper, lambda each: each.tags, {Syntax.HANDLEBARS})
        for path in self.expression.paths:
            if path[0] == "this" or path[0].startswith("@"):
                yield Finding(Reason.WORD, path[0], _WITH_HELPERS, is_mistake=True)
        if _LIST_OF_ONE_NAME.match(self.tag.text) is not None:
            yield Finding(Reason.WORD, "[…]", _WITH_PATHS, is_mistake=True)

    def _calls(self) -> Iterator[Finding]:
        for call in dict.fromkeys(self.expression.calls):
            if call not in self.local_names and not self.vocabulary.is_function(call):
                owners = tuple(
                    esp for esp in WITH_BRACES if PROFILES[esp].vocabulary.is_function(call)
                )
                is_mistake = bool(owners)
                reason = Reason.WORD if owners else Reason.UNKNOWN
                yield Finding(reason, f"{call}()", owners, is_mistake=is_mistake)

    def _filters(self) -> Iterator[Finding]:
        syntax = self.vocabulary.syntax
        for name, argument in dict.fromkeys(self.expression.filters):
            if name in self.vocabulary.filters and argument in _ARGUMENTS[syntax]:
                continue
            owners = tuple(
                esp
                for esp in WITH_BRACES
                if name in PROFILES[esp].vocabulary.filters
                and argument in _ARGUMENTS[PROFILES[esp].vocabulary.syntax]
            )
            is_name = self.vocabulary.has_fallbacks and not argument  # `{{name | Customer}}`
            if is_name and not owners:
                continue
            is_mistake = bool(owners) and not is_name
            reason = Reason.WORD if is_mistake else Reason.UNKNOWN
            yield Finding(reason, f"|{name}", owners, is_mistake=is_mistake)

    def _path(self, path: Path) -> Iterator[Finding]:
        root, name, vocabulary = path[0], ".".join(path), self.vocabulary
        if root in self.local_names or root in self.expression.sets or root in vocabulary.local:
            return
        if not vocabulary.has_interpolation and _is_known(vocabulary, path):
            if root in vocabulary.fields and len(path) > 1:
                yield from self._field(path)
            return
        for is_certain, word, owners in (
            (len(path) == 1 or not vocabulary.any_name, name, self._owners_of_system(name)),
            (not vocabulary.any_name, root, self._owners_of_root(root) if len(path) > 1 else ()),
        ):
            if owners:
                certain = tuple(
                    esp for esp in owners if not {root, name} & PROFILES[esp].vocabulary.common
                )
                is_mistake = bool(certain) and is_certain
                reason = Reason.WORD if is_mistake else Reason.POSSIBLY_FOREIGN
                yield Finding(reason, word, owners, is_mistake=is_mistake)
                return
        if not vocabulary.any_name or (len(path) == 1 and _LINK.search(name)):
            yield Finding(Reason.UNKNOWN, root)

    def _field(self, path: Path) -> Iterator[Finding]:
        """Yield that a field can't have this name, or that no field of the ESP usually has."""
        if re.fullmatch(self.vocabulary.field_pattern, path[1]) is None:
            owners = tuple(
                esp
                for esp in self._owners_of_root(path[0])
                if re.fullmatch(PROFILES[esp].vocabulary.field_pattern, path[1])
            )
            yield Finding(Reason.WORD, f"{path[0]}.{path[1]}", owners, is_mistake=True)
        elif PROFILES[self.esp].names.capitals and path[1] != path[1].upper():
            owners = self._owners_of_root(path[0])
            yield Finding(Reason.POSSIBLY_FOREIGN, f"{path[0]}.{path[1]}", owners)

    def _owners_of_root(self, root: str) -> tuple[Esp, ...]:
        return tuple(
            esp
            for esp in WITH_BRACES
            if esp is not self.esp and root in PROFILES[esp].vocabulary.roots
        )

    def _owners_of_system(self, name: str) -> tuple[Esp, ...]:
        return tuple(
            esp
            for esp in WITH_BRACES
            if esp is not self.esp and PROFILES[esp].vocabulary.is_system(name)
        )

    def _of_others(
        self, word: str, words: Callable[[Vocabulary], frozenset[str]], syntaxes: set[Syntax]
    ) -> Finding:
        owners = tuple(
            each.esp
            for each in BUILT_IN
            if each.vocabulary.syntax in syntaxes
            and each.esp is not self.esp
            and {word, word.removeprefix("end")} & words(each.vocabulary)
        )
        certain = tuple(esp for esp in owners if word not in PROFILES[esp].vocabulary.common)
        if owners and not certain:
            return Finding(Reason.POSSIBLY_FOREIGN, word, owners)
        return Finding(
            Reason.WORD if owners else Reason.UNKNOWN, word, owners, is_mistake=bool(owners)
        )
