"""The vocabulary of a dialect: the words by which its tags are recognized."""

from __future__ import annotations

from enum import Enum
from functools import cache, cached_property

from attrs import frozen


class Syntax(Enum):
    """The languages of tags. Several dialects share one, with different words."""

    AMPSCRIPT = "AMPscript"
    MERGE_TAGS = "merge tags"
    PERCENT_TAGS = "percent tags"
    LIQUID = "Liquid"
    DJANGO = "Django"
    HUBL = "HubL"
    HANDLEBARS = "Handlebars"


def words(text: str) -> frozenset[str]:
    """Return the words of a text."""
    return frozenset(text.split())


_NONE: frozenset[str] = frozenset()


@frozen(kw_only=True)
class Vocabulary:
    """The words of one dialect, from the documentation of its vendor and from public templates.

    A root is the first part of a path: `person` in `{{ person.City }}`. To add a word, write it
    into the set that says what it shows. In `events`, `system` and `functions`, a word that ends
    with `*` stands for all names with that beginning.
    """

    syntax: Syntax
    fields: frozenset[str] = _NONE
    """Roots whose members are the recipient's fields."""
    bare_fields: frozenset[str] = _NONE
    """Fields that are written without a root."""
    field_pattern: str = r"(?s:.+)"
    """The names that fields can have."""
    has_field_paths: bool = False
    """Whether a field without a root can be a member of an object."""
    events: frozenset[str] = _NONE
    """Names, and roots of values, of the event or message that caused the send."""
    nested: frozenset[str] = _NONE
    """Roots of objects and lists, such as the company of a contact."""
    system: frozenset[str] = _NONE
    """Names of links, and of data of the sender, the account and the message."""
    common: frozenset[str] = _NONE
    """Names and roots of the other sets that data of any kind can have in other dialects. They are
    never certain signs of this dialect."""
    local: frozenset[str] = _NONE
    """Names that the language itself sets or reads as code, such as `forloop`."""
    system_tags: frozenset[str] = _NONE
    """Tags, `{% NAME %}`, that show what `system` shows."""
    tags_with_text: frozenset[str] = _NONE
    """Those of `system_tags` that take the text of a link: `{% NAME 'text' %}`."""
    tags: frozenset[str] = _NONE
    """The other tags, and the helpers of Handlebars."""
    filters: frozenset[str] = _NONE
    functions: frozenset[str] = _NONE
    any_name: bool = False
    """Whether values can have any name, because the caller of the ESP's API chooses them."""

    def is_system(self, name: str) -> bool:
        """Return whether the name, which can be a path, is one of the system names."""
        return _is_among(name, self.system)

    def is_event(self, name: str) -> bool:
        """Return whether the name is one of the names of event data."""
        return _is_among(name, self.events)

    def is_function(self, name: str) -> bool:
        """Return whether the name is one of the functions."""
        return _is_among(name, self.functions)

    @cached_property
    def known_roots(self) -> frozenset[str]:
        """The roots that have a meaning by themselves: fields, event data, objects and lists."""
        return self.bare_fields | self.fields | self.events | self.nested

    @cached_property
    def roots(self) -> frozenset[str]:
        """All roots, and the names of fields and event data without a root."""
        return self.known_roots | {each.partition(".")[0] for each in self.system if "." in each}


def _is_among(name: str, words: frozenset[str]) -> bool:
    """Return whether the name is one of the words, or begins with one that ends with `*`."""
    return name in words or name.startswith(_beginnings(words))


@cache
def _beginnings(words: frozenset[str]) -> tuple[str, ...]:
    """Return the beginnings of names that words with `*` stand for."""
    return tuple(each[:-1] for each in words if each.endswith("*"))
