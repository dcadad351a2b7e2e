"""The verdict on a tag in content for an ESP: what is wrong with it, or nothing."""

from __future__ import annotations

import re
from collections.abc import Callable, Container, Iterator, Mapping
from enum import Enum, IntEnum
from functools import cache, cached_property

from attrs import define, evolve, frozen

from ..languages.blocks import Certainty, Tag
from ..names import Esp
from ..profiles import Profiles
from ..profiles.profile import Profile, Syntax, Vocabulary
from .words import NAMED_BY_USERS, Path, Shown, TagRole, Words, find_shown


class Reason(Enum):
    """Why a tag is not, or may not be, code of an ESP."""

    SYNTAX = "the language of the ESP does not read the tag"
    DELIMITER = "the ESP has no tags with these delimiters"
    WORD = "other dialects have this word, and the ESP does not"
    UNKNOWN = "the ESP has no value, tag or filter with this name"
    POSSIBLY_FOREIGN = "other dialects have this word, but it can also be a name in the ESP's data"


@frozen
class Finding:
    """What is wrong with a tag: a mistake or a caveat.

    `word` is what the `dialects` have and the ESP does not, or why its language does not read the
    tag, which is code of the `dialects`.
    """

    reason: Reason
    word: str
    dialects: tuple[Esp, ...] = ()
    is_mistake: bool = False


_PIPED = frozenset({Syntax.LIQUID, Syntax.DJANGO, Syntax.HUBL})
_HANDLEBARS = frozenset({Syntax.HANDLEBARS})
_WORD = re.compile(r"\w+")
_LINK = re.compile(
    r"unsub|opt_?out|mirror|preference|web_?version|view_?(?:in|as|online)|_browser|subscription",
    re.IGNORECASE,
)
"""Names that mean a link to leave the list, or to show the email, in any dialect."""


_MEANINGFUL = (TagRole.FIELD, TagRole.SYSTEM, TagRole.EVENT, TagRole.NESTED)


class Fit(IntEnum):
    """How well a tag fits into the dialect of an ESP."""

    NONE = 0
    """The ESP does not read it, or not as it is meant."""
    POSSIBLE = 1
    """It may be code of another dialect, or use a name that the ESP does not have."""
    CODE = 2
    """It is code of the ESP, and can be code of others."""
    SIGN = 3
    """It has a word of the dialect, and none that is rather of another one."""


@define(eq=False)
class Reading:
    """A tag as one ESP reads it. What is wrong with it is found when it is needed, once."""

    profile: Profile
    tag: Tag
    profiles: Profiles

    @cached_property
    def words(self) -> Words:
        """The words of the tag."""
        return Words.of(self.tag, self.profile.vocabulary)

    @cached_property
    def shown(self) -> Shown:
        """What the tag shows."""
        return find_shown(self.words)

    @cached_property
    def is_read(self) -> bool:
        """Whether the language of the ESP reads the tag, or could only mean one thing with it."""
        return self.tag.unread is None or self.tag.unread.meant is not None

    @cached_property
    def finding(self) -> Finding | None:
        """What is most certainly wrong with the tag, if no other tag sets a name."""
        return self.judge()

    def judge(self, local_names: Container[str] = ()) -> Finding | None:
        """Return what is most certainly wrong with the tag, or None.

        `local_names` are the names that other tags of the text set.
        """
        first, unread = None, self.tag.unread
        if unread is not None:
            is_mistake = unread.reason not in self.profile.unestablished
            first = Finding(Reason.SYNTAX, unread.reason, is_mistake=is_mistake)
            if is_mistake:
                return first
        if not has_braces(self.profile) or self.tag.certainty is not Certainty.CODE:
            return first
        judge = _Judge(self.profiles, self.profile, self.words, local_names)
        for finding in judge.findings():
            if finding.is_mistake:
                return finding
            first = first or finding
        return first

    @property
    def may_be_foreign(self) -> bool:
        """Whether a word of the tag is rather one of other dialects."""
        return self.finding is not None and self.finding.reason is Reason.POSSIBLY_FOREIGN

    @cached_property
    def fit(self) -> Fit:
        """How well the tag fits into the dialect."""
        finding = self.finding
        if finding is not None and finding.is_mistake:
            return Fit.NONE
        vocabulary = self.profile.vocabulary
        permitted = set() if vocabulary.any_name else {Reason.UNKNOWN}
        if vocabulary.has_field_paths:
            permitted.add(Reason.POSSIBLY_FOREIGN)
        if self.is_read and (finding is None or finding.reason in permitted) and self._has_sign():
            return Fit.SIGN
        return Fit.CODE if finding is None else Fit.POSSIBLE

    def _has_sign(self) -> bool:
        vocabulary = self.profile.vocabulary
        if vocabulary.syntax in NAMED_BY_USERS:
            return True
        words, role = self.words, self.shown.role
        if vocabulary.syntax is Syntax.HANDLEBARS:
            helpers = {each.removeprefix("/") for each in (*words.tags, *words.functions)}
            if helpers or words.is_block:
                return vocabulary.tags.issuperset(helpers)
            is_one_value = len(words.paths) <= 1 and not words.filters
            is_path = role is TagRole.NESTED
            return (
                is_one_value and role in _MEANINGFUL and (vocabulary.has_field_paths or not is_path)
            )
        return role in _MEANINGFUL or any(
            not any(
                word in other.vocabulary.tags
                for other in self.profiles
                if other is not self.profile
            )
            for word in words.tags
        )


@define(eq=False)
class TextTag:
    """What looks like a tag in a text, from `start` to `end`.

    `readings` are those of the ESPs that read a tag from there on, the most likely first. If there
    are none, this looks like a tag of another sender.
    """

    start: int
    end: int
    text: str
    readings: Mapping[Esp, Reading]
    profiles: Profiles

    @cached_property
    def dialects(self) -> tuple[Esp, ...]:
        """The ESPs that can read the tag, those first of whose dialect it has a sign."""
        likely = sorted(self.readings, key=lambda esp: -self.readings[esp].fit)
        code = tuple(esp for esp in likely if self.readings[esp].fit >= Fit.CODE)
        return code or tuple(esp for esp in likely if self.readings[esp].fit > Fit.NONE)

    def judge(self, esp: Esp | None, local_names: Container[str] = ()) -> Finding | None:
        """Return what is most certainly wrong with the tag in content for the ESP, or None.

        Without an ESP, no tag is right. `local_names` are the names that other tags set.
        """
        own = None if esp is None else self.readings.get(esp)
        if own is None:
            return self._foreign
        finding = own.judge(local_names) if local_names else own.finding
        if finding is None or finding.reason is not Reason.SYNTAX or not finding.is_mistake:
            return finding
        signed = (each for each, reading in self.readings.items() if reading.fit is Fit.SIGN)
        return evolve(finding, dialects=tuple(signed))

    def read_as(self, profile: Profile) -> Reading | None:
        """Return how this ESP reads the tag, also if it is code of the ESP of the content."""
        if profile.esp in self.readings:
            return self.readings[profile.esp]
        tag = next(profile.find_tags(self.text), None)
        return None if tag is None else Reading(profile, tag, self.profiles)

    @cached_property
    def _foreign(self) -> Finding | None:
        """What is wrong with a tag that the ESP does not have, or None if it is rather text."""
        if not self.readings:
            return Finding(Reason.POSSIBLY_FOREIGN, self.text)
        readings = [self.readings[each] for each in self.dialects]
        certain = [each for each in readings if not each.may_be_foreign] or readings
        dialects = tuple(each.profile.esp for each in certain)
        if certain and certain[0].tag.certainty is Certainty.POSSIBLE:
            return Finding(Reason.POSSIBLY_FOREIGN, self.text, dialects)
        if certain and certain[0].tag.certainty is Certainty.IF_KNOWN:
            return self._judge_name(certain[0])
        word = f"{self.text[:2]}…{self.text[-2:]}"
        return Finding(Reason.DELIMITER, word, dialects, is_mistake=True)

    def _judge_name(self, reading: Reading) -> Finding | None:
        """Judge `%NAME%`, which is code if the ESP has the name. `%Y%` is a date."""
        shown = reading.shown
        if any(len(name) == 1 for name in shown.names):
            return None
        is_own = not reading.profile.vocabulary.bare_fields.isdisjoint(shown.names)
        is_known = is_own or shown.role is TagRole.SYSTEM
        reason = Reason.DELIMITER if is_known else Reason.POSSIBLY_FOREIGN
        return Finding(reason, self.text, tuple(self.readings), is_mistake=is_known)


def _names(vocabulary: Vocabulary, root: str, *, is_member: bool) -> bool:
    """Return whether the ESP has the root, also as `root.${…}`, or such a word of its language."""
    if is_member:
        return not vocabulary.roots.isdisjoint({root, f"{root}.$"}) or root in vocabulary.local
    return root in vocabulary.local & vocabulary.tags  # `{{else}}` of Handlebars


def has_braces(profile: Profile) -> bool:
    """Return whether the tags of the dialect are in braces, with words that the ESP names."""
    return profile.vocabulary.syntax not in NAMED_BY_USERS


@cache
def _roots(profiles: Profiles) -> tuple[frozenset[str], tuple[str, ...]]:
    """Return the roots and words of all dialects, and the beginnings of others."""
    vocabularies = [each.vocabulary for each in filter(has_braces, profiles)]
    words = {word for each in vocabularies for word in each.roots | each.system | each.local}
    roots = {word.partition(".")[0] for word in words}
    return frozenset(roots), tuple(each[:-1] for each in roots if each.endswith("*"))


@cache
def _filters(profiles: Profiles) -> frozenset[str]:
    """Return the filters of all dialects."""
    return frozenset().union(*(each.vocabulary.filters for each in filter(has_braces, profiles)))


def _is_word_of_any(profiles: Profiles, root: str) -> bool:
    """Return whether a path with this root can have a word of a dialect."""
    roots, beginnings = _roots(profiles)
    return root.removesuffix(".$") in roots or root.startswith(beginnings)


def _is_known_path(vocabulary: Vocabulary, path: Path) -> bool:
    root = path[0]
    return (
        root in vocabulary.known_roots
        or (len(path) > 1 and root in vocabulary.roots)
        or vocabulary.is_system(".".join(path))
    )


@frozen
class _Judge:
    """The verdict on the words of a tag."""

    profiles: Profiles
    profile: Profile
    words: Words
    local_names: Container[str]

    def findings(self) -> Iterator[Finding]:
        """Yield what is wrong with the tag."""
        vocabulary = self.profile.vocabulary
        is_handlebars = vocabulary.syntax is Syntax.HANDLEBARS
        for tag in dict.fromkeys(self.words.tags):
            yield from self._tag(tag, _HANDLEBARS if is_handlebars else _PIPED)
        for function in dict.fromkeys(self.words.functions):
            if is_handlebars:
                yield from self._tag(function, _HANDLEBARS)
            else:
                yield from self._function(function)
        for name in dict.fromkeys(self.words.filters):
            if name not in vocabulary.filters:
                yield from self._filter(name)
        for path in dict.fromkeys(self.words.paths):
            yield from self._path(path)

    def _tag(self, word: str, languages: frozenset[Syntax]) -> Iterator[Finding]:
        """Yield that the ESP does not have a statement, block or helper, or the text in it."""
        name = _WORD.findall(word)[0] if _WORD.search(word) else word
        names = {name, name.removeprefix("end")}
        own = self.profile.vocabulary

        def has(vocabulary: Vocabulary) -> bool:
            return not names.isdisjoint(vocabulary.tags | vocabulary.system_tags)

        if self.words.text_of == word:
            owners = self._owners(lambda each: word in each.tags_with_text)
            if owners and word not in own.tags_with_text:
                yield Finding(Reason.POSSIBLY_FOREIGN, f"{word} '…'", owners)
        if has(own) or name in self.local_names:
            return
        owners = self._owners(lambda each: each.syntax in languages and has(each))
        is_mistake = any(name not in self.profiles[esp].vocabulary.common for esp in owners)
        reason = Reason.WORD if is_mistake else Reason.POSSIBLY_FOREIGN
        yield Finding(reason if owners else Reason.UNKNOWN, name, owners, is_mistake=is_mistake)

    def _function(self, name: str) -> Iterator[Finding]:
        if name not in self.local_names and not self.profile.vocabulary.is_function(name):
            owners = self._owners(lambda each: each.is_function(name))
            reason = Reason.WORD if owners else Reason.UNKNOWN
            yield Finding(reason, f"{name}()", owners, is_mistake=bool(owners))

    def _filter(self, name: str) -> Iterator[Finding]:
        is_known = name in _filters(self.profiles)
        owners = self._owners(lambda each: name in each.filters) if is_known else ()
        reason = Reason.WORD if owners else Reason.UNKNOWN
        yield Finding(reason, f"|{name}", owners, is_mistake=bool(owners))

    def _path(self, path: Path) -> Iterator[Finding]:
        root, name, vocabulary = path[0], ".".join(path), self.profile.vocabulary
        if root in self.local_names or root in self.words.sets or root in vocabulary.local:
            return
        if not root:  # Django reads `{{ .name }}`, which can't show anything.
            yield Finding(Reason.UNKNOWN, name, is_mistake=True)
            return
        if _is_known_path(vocabulary, path):
            if root in vocabulary.fields and len(path) > 1:
                yield from self._field(path)
            return
        is_member, can_be_own = len(path) > 1, vocabulary.can_have(path)
        if not _is_word_of_any(self.profiles, root):
            if not can_be_own or (not is_member and _LINK.search(name)):
                yield Finding(Reason.UNKNOWN, root)
            return
        for is_certain, word, owners in (
            (
                not (is_member and can_be_own),
                name,
                self._owners(lambda each: each.is_system(name)),
            ),
            (
                not can_be_own or not _WORD.match(root),
                root,
                self._owners(lambda each: _names(each, root, is_member=is_member)),
            ),
        ):
            if owners:
                is_mistake = is_certain and any(
                    {root, name}.isdisjoint(self.profiles[esp].vocabulary.common) for esp in owners
                )
                reason = Reason.WORD if is_mistake else Reason.POSSIBLY_FOREIGN
                yield Finding(reason, word, owners, is_mistake=is_mistake)
                return
        if not can_be_own or (not is_member and _LINK.search(name)):
            yield Finding(Reason.UNKNOWN, root)

    def _field(self, path: Path) -> Iterator[Finding]:
        """Yield that a field can't have this name, or that no field of the ESP usually has."""
        root, name, vocabulary = path[0], path[1], self.profile.vocabulary
        owners = self._owners(
            lambda each: root in each.roots and bool(re.fullmatch(each.field_pattern, name))
        )
        if re.fullmatch(vocabulary.field_pattern, name) is None:
            yield Finding(Reason.WORD, f"{root}.{name}", owners, is_mistake=True)
        elif self.profile.names.capitals and name != name.upper():
            yield Finding(Reason.POSSIBLY_FOREIGN, f"{root}.{name}", owners)

    def _owners(self, has: Callable[[Vocabulary], bool]) -> tuple[Esp, ...]:
        """Return the other ESPs that have a word."""
        return tuple(
            each.esp
            for each in filter(has_braces, self.profiles)
            if each is not self.profile and has(each.vocabulary)
        )
