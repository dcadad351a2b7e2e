"""What the profile of an ESP says. A person who adds an ESP reads this module from the top.

A template contains slots: NAME is the ESP field name, PATH is that name with square brackets
around each part between periods that is not a word, VARIABLE is that name as a Salesforce variable,
EXPRESSION is the value expression, and DEFAULT is the text for a missing value. A slot in quotes
becomes a string literal of the language. Any other slot is replaced verbatim.

Messages contain `{title}` for the title of the ESP.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from enum import Enum
from functools import cache, cached_property

from attrs import frozen

from ...content import Surface
from ...content.filters import DATE_PART, FilterName
from ...content.system_values import SystemValue
from ...fields.values import DataType
from ..languages.blocks import Language, Tag, find_places
from ..languages.conditions import ConditionLanguage
from ..languages.paths import PathWriter
from ..names import Esp

__all__ = ["Profile"]


@frozen(kw_only=True, eq=False, repr=False)
class Profile:
    """All facts about one ESP, except how its API is called.

    A text is read in each of the `languages`. For the reasons in `unestablished`, it is not
    established that the ESP refuses the code, as its language does.
    `engines` contains the engines that the ESP is known or suspected to run, with the source of
    that knowledge. Derived code is right on all of them, or has a caveat. It is empty if nothing is
    known: then the code follows the documentation of the ESP.

    `system_codes` contains the codes of system values, or the reasons why there are none; no source
    establishes the others. `events` is how it reads event data, or the reason why it does not.
    `link_rule` says what the ESP does with an email without a link to unsubscribe, and `email_only`
    is the block that only the email shows. `dropped` has no meaning at other ESPs. `own_features`
    says what a person does with other system names that no other ESP has. Beside a tag that shows
    `link_to_all`, a code of several links is that of the page of preferences.

    `api_hosts` is a pattern of the hosts of its API, to which credentials can be sent.

    `vocabulary` and `adjacent_text` are about texts that users have written. `keeping` says how a
    person writes tags in braces that the ESP must not read.
    """

    esp: Esp
    title: str
    languages: tuple[Language, ...]
    unestablished: frozenset[str] = frozenset()
    engines: Mapping[Engine, str] = {}
    names: Names
    insertion: Insertion
    conditions: ConditionLanguage
    filters: FilterLanguage
    surfaces: SurfaceRules
    system_codes: Mapping[SystemValue, SystemCode | str]
    events: EventData | str = "No source establishes how {title} reads event data."
    link_rule: LinkRule | None = None
    email_only: EmailOnly | None = None
    dropped: Dropped | None = None
    own_features: Mapping[str, str] = {}
    link_to_all: str = ""
    vocabulary: Vocabulary
    adjacent_text: AdjacentText
    keeping: str | None = None
    api_hosts: str | None = None

    def __repr__(self) -> str:
        return f"Profile({self.title!r})"

    def find_tags(self, text: str) -> Iterator[Tag]:
        """Yield the tags of a text in the languages of the ESP, without those in another tag."""
        if len(self.languages) == 1:
            yield from self.languages[0](text)
            return
        offset = 0
        for start, tags in find_places(text, self.languages):
            tag = self.choose(tags) if start >= offset else None
            if tag is not None:
                offset = tag.end
                yield tag

    def choose(self, tags: Mapping[Language, Tag]) -> Tag | None:
        """Return the tag that the ESP reads at a place: that of the first language that can."""
        found = [tags[each] for each in self.languages if each in tags]
        return next((tag for tag in found if tag.unread is None), next(iter(found), None))

    def find_system_code(self, value: SystemValue) -> SystemCode | str:
        """Return the code of the value, or the reason why there is none, and what to do."""
        code = self.system_codes.get(value)
        if code is None:
            return f"No source establishes a code of {self.title} for `{value}`. {_INSTEAD[value]}"
        return code

    def with_own_link(self, advice: str) -> str:
        """Return the advice with the ESP's own code of the link to unsubscribe, if it has one."""
        code = self.find_system_code(SystemValue.UNSUBSCRIBE)
        link = code.code if isinstance(code, SystemCode) else str(SystemValue.UNSUBSCRIBE)
        return advice.replace(str(SystemValue.UNSUBSCRIBE), link)


class Engine(Enum):
    """The template engines that ESPs run, or that stand in for an engine that can't be tested."""

    RUBY_LIQUID = "Ruby's Liquid"
    LIQUIDJS = "LiquidJS"
    PONGO2 = "pongo2"
    DJANGO = "Django"
    JINJAVA = "Jinjava"
    HANDLEBARS = "handlebars.js"


class Strength(Enum):
    """Who says what a code or an instruction means."""

    VENDOR = "the vendor"
    ENGINE = "an engine that the vendor names"
    SECONDARY = "a third party"
    NONE = "no source"


NOTHING = "None found"
"""The source of what no source establishes."""


# The names of fields


@frozen(kw_only=True)
class Names:
    """How the ESP names fields, and refers to them in expressions, and who says so.

    The first of `forms` that matches a name applies. `standard_forms` contains the forms of the
    ESP's own fields, if they differ from those of custom fields. `rule` and `standard_rule` are the
    messages for names without a form. A name must not be `reserved`.

    `standard_fields` contains the names of the ESP's own fields, by the keys that mean them. The
    API of the ESP does not list those that are `unlisted`, so a sync can't find them. Those that
    are `conventional` are no fields of the ESP: accounts usually have fields with these names.
    `differing_values` contains what is known about the values of such a field, by its name, if
    other ESPs have values of another form. Other names are the key, in capital letters if
    `capitals` is true. `max_length` is the maximum of their characters, if a key can be longer. If
    `lists_fields_in_use_only` is true, the ESP does not list field definitions, only the fields
    that it has found in use, so a field that it does not list may exist.
    """

    source: str = NOTHING
    strength: Strength = Strength.NONE
    rule: str
    forms: tuple[Form, ...]
    standard_rule: str = ""
    standard_forms: tuple[Form, ...] = ()
    reserved: frozenset[str] = frozenset()
    standard_fields: Mapping[str, str] = {}
    unlisted: frozenset[str] = frozenset()
    conventional: frozenset[str] = frozenset()
    differing_values: Mapping[str, str] = {}
    capitals: bool = False
    max_length: int | None = None
    lists_fields_in_use_only: bool = False
    creation: Creation

    def derive(self, key: str) -> str:
        """Return the name that is derived from the key. It is not checked."""
        return key.upper() if self.capitals else key

    def shorten(self, key: str, suffix: str = "") -> str:
        """Return the derived name with the suffix. What precedes it is shortened if necessary."""
        derived = self.derive(key)
        if self.max_length is None:
            return derived + suffix
        return derived[: self.max_length - len(suffix)].rstrip("_") + suffix

    def keys_of(self, name: str) -> set[str]:
        """Return the keys whose standard name, or derived name, this is."""
        standard = {key for key, each in self.standard_fields.items() if each == name}
        return standard | {name.lower() if self.capitals else name}


WORD = r"[A-Za-z_][A-Za-z0-9_]*"
"""A name that needs no quotes or brackets in any language."""


@frozen
class Form:
    """The value expression of fields whose whole name matches the regular expression `pattern`."""

    pattern: str
    expression: str


@frozen
class Creation:
    """The instruction to create the field NAME at the ESP, and who says that."""

    instruction: str
    strength: Strength

    def explain(self, name: str = "NAME") -> str:
        """Return the sentences that say how a person creates a field with this name."""
        return f"{self.instruction.replace('NAME', name)}{_EVIDENCE[self.strength]}"


_EVIDENCE = {
    Strength.VENDOR: "",
    Strength.SECONDARY: " A third party describes this request.",
    Strength.NONE: " No page of the vendor confirms this: try it in your account first.",
}
"""The sentences that follow an instruction."""


# The insertion of fields


class Quoting(Enum):
    """The ways to write a string literal that contains a quote."""

    DOUBLED = "the quote is doubled"
    OTHER = "the literal is enclosed in the other type of quotes"
    NONE = "not possible"


@frozen(kw_only=True)
class Insertion:
    """How the ESP inserts the value of a field, and who says so.

    `guarded` is the code that shows nothing for null, if `code` can show the null itself. `prelude`
    is code that must precede both, once per email. A name or default must not contain any of the
    `delimiters`. The default is for tags in braces: engines differ in whether one brace ends a tag,
    and in what a backslash escapes. `shown_forms` contains, per data type, how an engine shows
    values in another form than the preview.

    `default_also_replaces` contains, per data type, a value that the ESP replaces with the default
    although it is not missing. `other_defaults` are other codes with a default in templates.
    `default_caveat` is a known case of texts in which the ESP can show something else than the
    default. `missing_value` is known if a missing value stops the message.
    """

    source: str
    strength: Strength = Strength.VENDOR
    code: str
    guarded: str | None = None
    with_default: str
    prelude: str | None = None
    delimiters: tuple[str, ...] = ("{", "}", "\\")
    quoting: Quoting = Quoting.NONE
    shown_forms: Mapping[DataType, str] = {}
    default_also_replaces: Mapping[DataType, str] = {}
    other_defaults: tuple[OtherDefault, ...] = ()
    default_caveat: str | None = None
    missing_value: MissingValue | None = None


@frozen
class OtherDefault:
    """A code with a default that no export writes, but that templates contain, and its source.

    `also_replaces` is as in `Insertion`. `caveat` says what it does not replace.
    """

    code: str
    source: str
    also_replaces: Mapping[DataType, str] = {}
    caveat: str | None = None


@frozen
class MissingValue:
    """What happens if a recipient lacks the value of a code that matches `pattern`."""

    pattern: str
    message: str


# Event data


@frozen(kw_only=True)
class EventWay:
    """A way in which a message is sent, and what the ESP calls the event data then.

    `name` is what an export calls the way, and `sent_by` says when it applies. `value` is the
    expression of the whole data: empty if its members are bare names. If it contains NAME, it is
    that of the member with this name, which matches `pattern`.
    """

    name: str
    sent_by: str
    value: str
    pattern: str = r"(?s:.+)"
    source: str
    strength: Strength = Strength.VENDOR


@frozen(kw_only=True)
class LoopForm:
    """The code of a loop. VARIABLE is that of the loop, and ITEMS the expression of the list.

    `opening`, `otherwise` and `closing` are its tags. If `otherwise` is None, `guard` is the
    condition in whose else part the text without items is. `variable` is how the loop calls an
    item, and `root` is the value in which names outside of the loop are found, if the loop hides
    them. If `hides_outer` is true, a loop in a loop can't reach the item of the outer one.
    `members` contains the expressions of `loop.number` and the tests of the loop.
    """

    opening: str
    otherwise: str | None
    closing: str
    guard: tuple[str, str, str] | None = None
    variable: str = "VARIABLE"
    root: str = ""
    hides_outer: bool = False
    members: Mapping[str, str] = {}
    source: str
    strength: Strength = Strength.ENGINE


@frozen(kw_only=True)
class EventData:
    """How the code of an ESP reads event data. The first of the `ways` is the usual one.

    `write_path` writes the members of a value. If it is None, the data are attributes, which have
    the codes of fields: no member can be in another. `reserved` are names that the ESP reads as
    code. `with_default` is used in place of the code of fields with a default. Without a `loop`,
    `no_loop` is the reason.
    """

    ways: tuple[EventWay, ...]
    write_path: PathWriter | None
    reserved: frozenset[str] = frozenset()
    with_default: str | None = None
    caveat: str | None = None
    loop: LoopForm | None = None
    no_loop: str = "No source establishes how {title} writes loops over lists."


# Filters
#
# A template contains slots: VALUE is the expression of the value, ARGUMENT the argument of the
# filter, LESS the number before it, and ZEROS as many zeros.


@frozen(kw_only=True)
class FilterForm:
    """The code of one filter.

    `code` is an expression, or, if `is_output` is true, complete code that no filter can follow.
    `code_for_zero` replaces it if the argument is 0. The argument is at least `least`. If
    `needs_value` is true, the code must not read a missing value. `differences` are the values for
    which the ESP can show something else than the preview, each with an example.
    `difference_of_instants` applies to datetime fields only. `others` are codes that no export
    writes, but that templates contain, with the values for which they differ.
    """

    code: str
    code_for_zero: str | None = None
    is_output: bool = False
    least: int = 0
    needs_value: bool = False
    differences: tuple[str, ...] = ()
    difference_of_instants: str | None = None
    others: Mapping[str, str] = {}
    source: str
    strength: Strength = Strength.ENGINE


@frozen
class FilterRefusal:
    """Why an ESP has no code for a filter, and the source of that."""

    reason: str
    source: str = ""
    strength: Strength = Strength.NONE


_DATE_CODE = re.compile(r"%-?[A-Za-z]|([A-Za-z])\1*")
"""A part of a format of dates. Repeated letters are one part, as in `dd`."""


@frozen(kw_only=True)
class FilterLanguage:
    """The filters of one ESP. No source establishes those that `forms` does not contain.

    `value` is how filters read the value expression, and `output` shows the result. `dates` has the
    code of each part of a format of dates; `missing_date` is why a part has none. If `joins` is
    false, a reference can have one filter only.

    `shared` are the filters that have the name and the meaning of those of an engine which other
    ESPs run, too, each with a caveat or an empty text. Conversions between such ESPs copy them.
    """

    value: str = "VALUE"
    output: str = "{{ VALUE }}"
    forms: Mapping[FilterName, FilterForm | FilterRefusal]
    dates: Mapping[str, str] = {}
    missing_date: str = "{title} would read these parts beside each other as another one."
    joins: bool = True
    shared: Mapping[str, str] = {}

    def write_date(self, format_: str) -> str | None:
        """Return the code of a format of content, or None if the code would have another meaning.

        Some parts have no code, and letters of two parts can be one: `MM` beside `MMMM`.
        """
        code = DATE_PART.sub(lambda part: self.dates.get(part[0], ""), format_)
        return code if self.read_date(code) == format_ else None

    def read_date(self, code: str) -> str:
        """Return the format of content with this code. Parts that content lacks become `?`."""
        parts = {code: part for part, code in self.dates.items()}
        return _DATE_CODE.sub(lambda found: parts.get(found[0], "?"), code)


# Values that contain HTML


class Escaping(Enum):
    """What the usual insertion code does with HTML in values."""

    ESCAPED = "escaped"
    RAW = "raw"
    UNKNOWN = "not established"


class ValueForm(Enum):
    """How an insertion code shows the value."""

    USUAL = "as the ESP shows it"
    ESCAPED = "escaped for HTML"
    RAW = "as it is"
    LINK = "as the URL of a link"


@frozen
class Templates:
    """The insertion code of a form, and that with a default, as in `Dialect`."""

    insertion: str
    insertion_with_default: str


@frozen(kw_only=True)
class SurfaceRules:
    """What one ESP does with HTML in the values of text fields.

    `source` says who establishes this. `forms` are the insertion codes that differ from the usual
    one. No form changes the default, which is a part of the content. `unescaped_default` is the
    code of a text whose default has characters of HTML, if the usual code escapes both. `caveats`
    name what can be wrong on a surface although its form is used, and `block_in_table` what happens
    to a block between the rows of a table.
    """

    html: Escaping = Escaping.UNKNOWN
    text: Escaping = Escaping.UNKNOWN
    subject: Escaping = Escaping.UNKNOWN
    source: str = NOTHING
    forms: Mapping[ValueForm, Templates] = {}
    unescaped_default: str | None = None
    caveats: Mapping[Surface, str] = {}
    block_in_table: str | None = None

    def escaping(self, surface: Surface) -> Escaping:
        """Return what the usual insertion code does on this surface."""
        by_surface = {Surface.HTML: self.html, Surface.TEXT: self.text}
        return by_surface.get(surface, self.subject)

    def form(self, surface: Surface) -> ValueForm:
        """Return the form that shows the value itself on this surface."""
        escaping = self.escaping(surface)
        wanted = ValueForm.RAW
        if surface is Surface.HTML:
            wanted = ValueForm.ESCAPED if escaping is Escaping.RAW else ValueForm.USUAL
        is_needed = wanted is ValueForm.ESCAPED or escaping is not Escaping.RAW
        return wanted if is_needed and wanted in self.forms else ValueForm.USUAL


# Links, the sender and the year


@frozen(kw_only=True)
class SystemCode:
    """Code that shows a system value, and its source: the address of a page, or a file on GitHub.

    `caveat` is a difference between what the ESP shows and the meaning of the value, or a type of
    email in which it does not show it. `caveat_of_reading` is the difference if other ESPs show the
    value instead. `also` are names in other codes of the ESP for this, each with such a difference.
    """

    code: str
    source: str
    strength: Strength = Strength.SECONDARY
    caveat: str | None = None
    caveat_of_reading: str | None = None
    also: Mapping[str, str | None] = {}


@frozen(kw_only=True)
class Dropped:
    """Code with a meaning only in the editor or the campaigns of the ESP, and its sources.

    `tags` are complete tags, also with the text that must be around them, and `attributes` those of
    HTML, by their names.
    """

    tags: Mapping[str, str] = {}
    attributes: Mapping[str, str] = {}


@frozen(kw_only=True)
class EmailOnly:
    """A block that the email shows, and its web version does not. Its opening has this name."""

    name: str
    opening: str
    closing: str


@frozen
class LinkRule:
    """What the ESP does with an email without a link to unsubscribe, and the source."""

    message: str
    source: str
    strength: Strength = Strength.SECONDARY


_INSTEAD = {
    SystemValue.UNSUBSCRIBE: "Write the code of the account's own template.",
    SystemValue.UNSUBSCRIBE_ALL: f"Write `{SystemValue.UNSUBSCRIBE}` instead.",
    SystemValue.PREFERENCES: "Write the address of a page of yours.",
    SystemValue.VIEW_IN_BROWSER: "Remove this link.",
    SystemValue.SENDER_NAME: "Write the name.",
    SystemValue.SENDER_ADDRESS: "Write the address.",
    SystemValue.YEAR: "Write the year.",
}


# Texts that users have written


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
    member_filters: frozenset[str] = _NONE
    """Filters that read a member of a value: `person|lookup:'City'`."""
    path_functions: frozenset[str] = _NONE
    """Functions whose first argument is a path in quotes."""
    has_field_paths: bool = False
    """Whether a field without a root can be a member of an object."""
    events: frozenset[str] = _NONE
    """Names, and roots of values, of the event or message that caused the send."""
    nested: frozenset[str] = _NONE
    """Roots of objects and lists, such as the company of a contact."""
    system: frozenset[str] = _NONE
    """Names of links, and of data of the sender, the account and the message."""
    inserted: frozenset[str] = _NONE
    """Those of `system` that show another content. A word with `*` is as it is there."""
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
    lookups: frozenset[str] = _NONE
    """Functions that read other data than the recipient's, in small letters."""
    variable_mark: str = ""
    """How the names of variables begin, if no other name does."""
    effects: frozenset[str] = _NONE
    """Functions that do more than return a value, in small letters."""
    any_name: bool = False
    """Whether values can have any name, because the caller of the ESP's API chooses them."""
    has_members: bool = True
    """Whether values with any name can be objects, which have members."""

    def can_have(self, path: Sequence[str]) -> bool:
        """Return whether a value whose name the ESP does not know can have this path."""
        return self.any_name and (self.has_members or len(path) == 1)

    def is_system(self, name: str) -> bool:
        """Return whether the name, which can be a path, is one of the system names."""
        return _is_among(self.fold(name), self.system)

    def is_inserted(self, name: str) -> bool:
        """Return whether the name is one of other contents."""
        return _is_among(name, self.inserted)

    def is_event(self, name: str) -> bool:
        """Return whether the name is one of the names of event data."""
        return _is_among(self.fold(name), self.events)

    def fold(self, name: str) -> str:
        """Return the name in the case of the vocabulary, if the language ignores case."""
        return _FOLDED.get(self.syntax, str)(name)

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


_FOLDED: Mapping[Syntax, Callable[[str], str]] = {
    Syntax.AMPSCRIPT: str.lower,
    Syntax.MERGE_TAGS: str.upper,
}
"""The languages whose names ignore case, and the case of their names in vocabularies."""


def _is_among(name: str, words: frozenset[str]) -> bool:
    """Return whether the name is one of the words, or begins with one that ends with `*`."""
    return name in words or name.startswith(_beginnings(words))


@cache
def _beginnings(words: frozenset[str]) -> tuple[str, ...]:
    """Return the beginnings of names that words with `*` stand for."""
    return tuple(each[:-1] for each in words if each.endswith("*"))


@frozen
class AdjacentText:
    """The rules for characters next to code that the ESP would read as a part of it.

    Text that matches `refused_before` can't be before code. One `escape` before code makes it text,
    and the last one of several is not shown. `separator` is code that the ESP renders to nothing.
    It separates code from a closing brace. Some engines remove the lines that contain only the tag
    of a block: then it separates code from line breaks, too, and `find_stripped` finds the places
    of the white space that is removed. In a block, the meaning of text after a match of
    `established` is not documented.
    """

    refused_before: re.Pattern[str] | None = None
    established: re.Pattern[str] | None = None
    separator: str = ""
    find_stripped: Callable[[str, Iterable[Tag]], Iterator[tuple[int, int]]] | None = None
    escape: str = ""
