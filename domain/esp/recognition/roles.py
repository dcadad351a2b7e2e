"""What tags show, and the names in them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from enum import Enum

from attrs import frozen

from ..languages.blocks import Tag
from ..profiles.profile import Syntax, Vocabulary
from .words import Path, Words

__all__ = ["TagRole"]

_LOOP_STATES = {"forloop", "loop", "tablerowloop"}
_INTERPOLATION = re.compile(r"(?<![^.])\$\.")
"""The mark of `${…}` in a path."""
NAMED_BY_USERS = {Syntax.AMPSCRIPT, Syntax.MERGE_TAGS, Syntax.PERCENT_TAGS}
"""The languages in which each name that is not one of the ESP is that of a field."""


class TagRole(Enum):
    """What a tag shows."""

    FIELD = "field"
    """A field of the recipient."""
    SYSTEM = "system"
    """A link, or data of the sender, the account or the message."""
    EVENT = "event"
    """Data of the event or message that caused the send."""
    NESTED = "nested"
    """A member of an object or list."""
    ASSIGNED = "assigned"
    """A local variable, or its assignment."""
    LOOP = "loop"
    """The begin or end of a loop, or its state."""
    NONE = "none"
    """No value."""


_BY_IMPORTANCE = (
    *(TagRole.FIELD, TagRole.SYSTEM, TagRole.EVENT, TagRole.NESTED),
    *(TagRole.LOOP, TagRole.ASSIGNED, TagRole.NONE),
)


@frozen
class Reading:
    """What a tag shows for one dialect, and the names of fields and of system values in it."""

    role: TagRole
    names: tuple[str, ...] = ()
    system_names: tuple[str, ...] = ()


def read_tag(tag: Tag, vocabulary: Vocabulary) -> Reading:
    """Return what the tag shows. Fields come first, then system values."""
    words = Words.of(tag, vocabulary)
    found = list(_values(words))
    roles = {role for role, _ in found} | ({TagRole.ASSIGNED} if words.sets else set())
    role = next((each for each in _BY_IMPORTANCE if each in roles), TagRole.NONE)
    names, system_names = (
        tuple(dict.fromkeys(name for role, name in found if role is wanted))
        for wanted in (TagRole.FIELD, TagRole.SYSTEM)
    )
    return Reading(TagRole.LOOP if words.is_loop else role, names, system_names)


def _values(words: Words) -> Iterator[tuple[TagRole, str]]:
    vocabulary = words.vocabulary
    for path in dict.fromkeys((*words.paths, *words.arguments)):
        if path[0] not in words.sets:
            role, name = role_of(path, vocabulary)
            is_argument = vocabulary.syntax is Syntax.AMPSCRIPT and path in words.in_calls
            if not (role is TagRole.SYSTEM and is_argument):
                yield role, name
    for tag in words.tags:
        if tag in vocabulary.system_tags:
            yield TagRole.SYSTEM, tag


def role_of(path: Path, vocabulary: Vocabulary) -> tuple[TagRole, str]:
    """Return what the value with this path is for the ESP, and its name."""
    root, name = path[0], _INTERPOLATION.sub("", ".".join(path))
    if root in _LOOP_STATES & vocabulary.local:
        return TagRole.LOOP, name
    if root in vocabulary.local or not root:
        return TagRole.NONE, name
    if vocabulary.is_system(".".join(path)):
        return TagRole.SYSTEM, name
    if root in vocabulary.fields and len(path) > 1:
        is_field = re.fullmatch(vocabulary.field_pattern, path[1]) is not None
        role = TagRole.NESTED if len(path) > 2 else TagRole.FIELD
        return (role if is_field else TagRole.ASSIGNED), path[1] if len(path) == 2 else name
    if root in vocabulary.bare_fields and len(path) == 1:
        return TagRole.FIELD, root
    if root in vocabulary.events or (len(path) == 1 and vocabulary.is_event(root)):
        return TagRole.EVENT, name
    if root in vocabulary.nested:
        return TagRole.NESTED, name
    if root.startswith("@") and vocabulary.syntax is Syntax.AMPSCRIPT:
        return TagRole.ASSIGNED, name
    if vocabulary.syntax in NAMED_BY_USERS:
        return TagRole.FIELD, name
    if not vocabulary.any_name:
        return TagRole.ASSIGNED, name
    if len(path) > 1:
        return TagRole.NESTED, name
    is_field = re.fullmatch(vocabulary.field_pattern, root, re.ASCII) is not None
    return (TagRole.FIELD if is_field else TagRole.NONE), name
