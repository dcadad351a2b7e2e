"""The verdict on a tag in content for an ESP: what is wrong with it, or nothing."""

from __future__ import annotations

import re
from collections.abc import Callable, Container, Iterator
from enum import Enum
from functools import cache

from attrs import evolve, frozen

from ..esps import Esp
from ..languages.blocks import Certainty, Tag
from ..profiles import Profiles
from ..profiles.profile import Profile, Syntax, Vocabulary
from .roles import NAMED_BY_USERS, Reading, TagRole, read_tag
from .tags import TextTag
from .words import Path, Words


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


_MEANINGFUL = {TagRole.FIELD, TagRole.SYSTEM, TagRole.EVENT, TagRole.NESTED}


def judge(
    profiles: Profiles, tag: TextTag, esp: Esp | None, local_names: Container[str] = ()
) -> Finding | None:
    """Return what is most certainly wrong with a tag in content for the ESP, or None.

    Without an ESP, no tag is right. `local_names` are the names that other tags of the content set.
    """
    own = None if esp is None else tag.readings.get(esp)
    if esp is None or own is None:
        return _judge_foreign(profiles, tag)
    finding = judge_tag(profiles, profiles[esp], own, local_names)
    if finding is None or finding.reason is not Reason.SYNTAX or not finding.is_mistake:
        return finding
    dialects = (
        other
        for other, reading in tag.readings.items()
        if other != esp and has_sign(profiles, profiles[other], reading)
    )
    return evolve(finding, dialects=tuple(dialects))


def judge_tag(
    profiles: Profiles, profile: Profile, tag: Tag, local_names: Container[str] = ()
) -> Finding | None:
    """Return what is most certainly wrong with a tag of the ESP's language, or None."""
    first = None
    if tag.unread is not None:
        is_mistake = tag.unread.reason not in profile.unestablished
        first = Finding(Reason.SYNTAX, tag.unread.reason, is_mistake=is_mistake)
        if is_mistake:
            return first
    if not has_braces(profile) or tag.certainty is not Certainty.CODE:
        return first
    words = Words.of(tag, profile.vocabulary)
    for finding in _Judge(profiles, profile, words, local_names).findings():
        if finding.is_mistake:
            return finding
        first = first or finding
    return first


def has_sign(profiles: Profiles, profile: Profile, tag: Tag) -> bool:
    """Return whether the tag has a word of the dialect, and none that is rather of another one."""
    if tag.unread is not None and tag.unread.meant is None:
        return False
    vocabulary = profile.vocabulary
    finding = judge_tag(profiles, profile, tag)
    permitted = {Reason.UNKNOWN}
    if vocabulary.has_field_paths:
        permitted.add(Reason.POSSIBLY_FOREIGN)
    if finding is not None and (finding.is_mistake or finding.reason not in permitted):
        return False
    if vocabulary.syntax in NAMED_BY_USERS:
        return True
    words, reading = Words.of(tag, vocabulary), read_tag(tag, vocabulary)
    is_meaningful = reading.role in _MEANINGFUL
    if vocabulary.syntax is Syntax.HANDLEBARS:
        helpers = {each.removeprefix("/") for each in (*words.tags, *words.functions)}
        if helpers or words.is_block:
            return vocabulary.tags.issuperset(helpers)
        is_one_value = len(words.paths) <= 1 and not words.filters
        is_path = reading.role is TagRole.NESTED
        return is_one_value and is_meaningful and (vocabulary.has_field_paths or not is_path)
    return is_meaningful or any(
        not any(word in other.vocabulary.tags for other in profiles if other is not profile)
        for word in words.tags
    )


def _judge_foreign(profiles: Profiles, tag: TextTag) -> Finding | None:
    """Return what is wrong with a tag that the ESP does not have, or None if it is rather text."""
    if not tag.readings:
        return Finding(Reason.POSSIBLY_FOREIGN, tag.text)
    dialects = tuple(
        each.esp
        for each in profiles
        if each.esp in tag.readings
        and _can_be_read(judge_tag(profiles, each, tag.readings[each.esp]))
    )
    if dialects:
        reading, vocabulary = tag.readings[dialects[0]], profiles[dialects[0]].vocabulary
        if reading.certainty is Certainty.POSSIBLE:
            return Finding(Reason.POSSIBLY_FOREIGN, tag.text, dialects)
        if reading.certainty is Certainty.IF_KNOWN:
            return _judge_name(tag, read_tag(reading, vocabulary), vocabulary)
    return Finding(Reason.DELIMITER, f"{tag.text[:2]}…{tag.text[-2:]}", dialects, is_mistake=True)


def _judge_name(tag: TextTag, reading: Reading, vocabulary: Vocabulary) -> Finding | None:
    """Judge `%NAME%`, which is code if the ESP has the name. `%Y%` is a date."""
    if any(len(name) == 1 for name in reading.names):
        return None
    is_own = not vocabulary.bare_fields.isdisjoint(reading.names)
    is_known = is_own or reading.role is TagRole.SYSTEM
    reason = Reason.DELIMITER if is_known else Reason.POSSIBLY_FOREIGN
    return Finding(reason, tag.text, tuple(tag.readings), is_mistake=is_known)


def _can_be_read(finding: Finding | None) -> bool:
    return finding is None or not (finding.is_mistake or finding.reason is Reason.POSSIBLY_FOREIGN)


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
        owners = self._owners(lambda each: name in each.filters)
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
        is_member = len(path) > 1
        if not _is_word_of_any(self.profiles, root):
            if not vocabulary.any_name or (not is_member and _LINK.search(name)):
                yield Finding(Reason.UNKNOWN, root)
            return
        for is_certain, word, owners in (
            (
                not (is_member and vocabulary.any_name),
                name,
                self._owners(lambda each: each.is_system(name)),
            ),
            (
                not vocabulary.any_name,
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
        if not vocabulary.any_name or (not is_member and _LINK.search(name)):
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
