"""The fields that a template uses: their keys, and the types that its tags show."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from functools import cache
from typing import TypeAlias

from attrs import Factory, define, field, frozen

from ...conditions import Value
from ...data_paths import DATA_PATH, EVENT, LONG_PATH, LOOP, DataPath
from ...errors import InvalidField
from ...fields.protocol import Field
from ...fields.values import DataType, FieldKey, derive_key
from ..derived_codes import derive
from ..errors import NoSafeForm
from ..languages.tree import Call, Expression, Filtered, Literal, Loop, Node, Path, walk
from ..names import Bare
from ..profiles.profile import Profile, Syntax, Vocabulary
from ..recognition.words import TagRole, role_of
from .code import read_output
from .outcomes import ByHand

OTHER_ROLES: Mapping[TagRole, str] = {
    TagRole.EVENT: (
        "This is data of the event or message. Write it in the language of the other ESP."
    ),
    TagRole.SYSTEM: (
        "`{name}` is a value that {title} itself provides. Content has no code for this tag: write"
        " that of the other ESP."
    ),
    TagRole.NESTED: "This is a member of an object or list. Send its value as a field.",
    TagRole.LOOP: "This is the state of a loop. Write it in the language of the other ESP.",
}
_INSERTED = "This inserts other content, `{name}`. Convert that separately, and insert it here."
_GIVE_PATH = "Or say what it is with a file of names, as in `{name}: {path}`."
_OTHER_WAY = "Content has data of one event, here of `{way}`. This tag reads `{root}`."
_NO_FIELD = "`{name}` is no name of a field at {title}. Say what it means with a file of names."
_OTHER_TYPE = (
    "This reads the field {key} as a {wanted}, but other tags read it as a {found}. Use one type."
)

_NO_LIST = "Content has loops over lists of event data only. Write this loop for the other ESP."
_HIDDEN = "A loop of Handlebars reads this name in its item. Write `@root.` before it."
_AMBIGUOUS = (
    "`{name}` can be a field or event data. Say which with a file of names, or for all such names"
    " with the option `bare`."
)
_BARE_ROLES = {TagRole.FIELD, TagRole.EVENT, TagRole.ASSIGNED, TagRole.NESTED}
"""The roles that a name without a root can have."""
_COMPUTED: Mapping[Syntax, Collection[str]] = {
    Syntax.LIQUID: {"first", "last", "size"},
    Syntax.HANDLEBARS: {"length"},
}
"""The members that the engines of a language compute for lists, unless the data have them."""
_IS_COMPUTED = (
    "{title} reads `{name}` of a list as its length or one of its items. Write it in the language"
    " of the other ESP."
)
_BIRTHDAY = "birthday"
"""The only one of the ESPs' own fields that is no text."""
EVENT_DATA = re.compile(rf"(?={EVENT}[.\[]){LONG_PATH}")
"""A path to event data, which a name at the source can mean."""
_WORDS = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
"""Where a word of a name such as `firstName` begins."""

_Parts: TypeAlias = tuple[str, ...]


@define
class SourceField:
    """A field, or a value of the event, that the template uses.

    The key of event data is its path. `name` is its name at the source, and `alias` another one
    that is assumed to mean the same. `is_given` is whether a file or organization says the key.
    `types` are those that tags require, in the order of the tags, and `values` those that they
    compare with. `is_shown_as_text` is whether a tag has a text as its default.
    """

    key: str
    name: str
    alias: str | None = None
    is_given: bool = False
    is_shown_as_text: bool = False
    types: dict[DataType, None] = field(factory=dict)
    values: dict[Value, None] = field(factory=dict)

    @property
    def reference(self) -> str:
        """What it is called in content."""
        return self.key if isinstance(self.key, DataPath) else f"recipient.{self.key}"

    @property
    def data_type(self) -> DataType | None:
        """The type that the first tag with one requires, or None if no tag shows it."""
        assumed = DataType.TEXT if self.is_shown_as_text else None
        return next(iter(self.types), assumed)


@frozen
class LoopItem:
    """The item of a loop over `items`: the names that tags read, and its variable in content.

    `list` is the list in the source.
    """

    items: DataPath
    names: tuple[str, ...]
    variable: str
    list: _Parts


@define
class SourceFields:
    """The fields of one template. `keys` are those of known names, as the source compares these.

    `known` are the fields of the organization by their keys, whose types apply. `bare` is what
    names mean that can be fields or event data.
    """

    _profile: Profile
    _keys: Mapping[str, str]
    _known: Mapping[str, Field]
    _bare: Bare | None = None
    _way: str | None = None
    """How the ESP calls the event data that is converted: by default, the first a tag reads."""
    _lists: Collection[str] = ()
    """The bare names whose values are lists, which only event data has."""
    is_beside_all: bool = False
    """Whether a tag, also one by hand, shows the link to unsubscribe from all emails."""
    _found: dict[_Parts, SourceField] = Factory(dict)
    _refused: dict[_Parts, str] = Factory(dict)
    """Why paths are by hand."""
    _taken: dict[str, SourceField] = Factory(dict)
    _loops: list[LoopItem] = Factory(list)
    _told: dict[int, tuple[SourceField, tuple[bool, DataType | None]]] = Factory(dict)
    """What tags were told first about the types of fields, by the identities of these."""
    read_names: set[str] = Factory(set)
    """The names that paths have, also those of no field, as they are compared."""

    @property
    def found(self) -> tuple[SourceField, ...]:
        """The fields in the order of their first use."""
        return tuple({id(each): each for each in self._found.values()}.values())

    def find(self, value: Expression) -> SourceField | None:
        """Return the field that the expression reads, or None if it is no path.

        Raises: ByHand if the path is none of a field.
        """
        vocabulary = self._profile.vocabulary
        parts = find_path(value, vocabulary)
        if parts is None:
            return None
        key, parts = self._find_in_loops(parts)
        if key is not None:
            return self._found.setdefault((key, *parts), SourceField(key, key))
        parts = _without_root(parts, vocabulary)
        folded = self._fold(parts)
        if folded in self._refused:
            raise ByHand(self._refused[folded])
        if folded not in self._found:
            try:
                self._found[folded] = self._read(parts)
            except ByHand as refused:
                self._refused[folded] = str(refused)
                raise
        return self._found[folded]

    def _fold(self, parts: _Parts) -> _Parts:
        """Return the path as it is compared, if the language ignores case."""
        return tuple(map(self._profile.vocabulary.fold, parts))

    def find_item(self, items: Expression, names: Mapping[str, str]) -> LoopItem:
        """Return the item of a loop over the list. Raises: ByHand.

        `names` are those that its tags read, by the names of its variables.
        """
        source = self.find(items)
        path = find_path(items, self._profile.vocabulary)
        if source is None or path is None or not isinstance(source.key, DataPath):
            raise ByHand(_NO_LIST)
        name = next(iter(names), "item")
        if any(name == each.variable for each in self._loops):
            name += str(len(self._loops) + 1)
        outer = self._loops[-1].list if self._loops else ()
        return LoopItem(source.key, tuple(names.values()), name, (*outer, *path, "[]"))

    @contextmanager
    def inside(self, item: LoopItem | None) -> Iterator[None]:
        """Read names as in a loop with this item, if there is one."""
        self._loops += [] if item is None else [item]
        yield
        if item is not None:
            self._loops.pop()

    @property
    def loops(self) -> tuple[LoopItem, ...]:
        """The loops around the current tag, from the outermost one."""
        return tuple(self._loops)

    @property
    def hides_names(self) -> bool:
        """Whether names are read in the item of a loop."""
        return bool(self._loops) and self._profile.vocabulary.syntax is Syntax.HANDLEBARS

    def _find_in_loops(self, parts: _Parts) -> tuple[DataPath | None, _Parts]:
        """Return the path in the item of a loop, or None and the parts outside of loops.

        Raises: ByHand if it is the state of a loop that content does not have.
        """
        loops, vocabulary = self._loops, self._profile.vocabulary
        if loops and parts in _loop_members(self._profile):
            return DataPath(f"{LOOP}.{_loop_members(self._profile)[parts]}"), ()
        for item in reversed(loops):
            if parts[0] in item.names:
                return self._member_path(item.variable, parts[1:]), item.list
        if vocabulary.syntax is not Syntax.HANDLEBARS or parts[0] == "[[]]":
            return None, parts
        level = len(loops)
        if parts[:2] == ("@", "root"):
            level, parts = 0, parts[2:]
        while level > 0 and parts[:1] == ("..",):
            level, parts = level - 1, parts[1:]
        if parts[:1] == ("this",):
            parts = parts[1:]
        if parts[:1] in {("@",), ("..",)} or (level == 0 and not parts):
            raise ByHand(OTHER_ROLES[TagRole.LOOP])
        if level == 0:
            return None, parts
        if parts and (parts[0] in vocabulary.fields or vocabulary.is_system(".".join(parts))):
            raise ByHand(_HIDDEN)
        return self._member_path(loops[level - 1].variable, parts), loops[level - 1].list

    def forget_unsettled(self) -> Collection[SourceField]:
        """Forget and return the fields about which tags were told what no longer holds.

        Later tags can show other types. Then all tags are read again.
        """
        changed = [source for source, told in self._told.values() if told != self._look_up(source)]
        for each in changed:
            del self._told[id(each)]
        return changed

    def type_of(self, source: SourceField) -> DataType | None:
        """Return the type of the field, or None if it is not known."""
        return self._tell(source)[1]

    def has_type(self, source: SourceField) -> bool:
        """Return whether the organization or a tag says which type the field has."""
        return self._tell(source)[0]

    def _tell(self, source: SourceField) -> tuple[bool, DataType | None]:
        found = self._look_up(source)
        self._told.setdefault(id(source), (source, found))
        return found

    def _look_up(self, source: SourceField) -> tuple[bool, DataType | None]:
        """Return whether the type is said, and the type, which a default can also show."""
        known = self._known.get(source.key)
        if known is not None:
            return True, known.data_type
        return bool(source.types), source.data_type

    def assume_text(self, source: SourceField, default: str) -> None:
        """Note that the default shows the type, if no other tag does."""
        if source.key not in self._known and not default.isdecimal():
            source.is_shown_as_text = True

    def require(self, source: SourceField, wanted: DataType, *values: Value) -> None:
        """Require a type, and note the values. Raises: ByHand if the field has another type."""
        source.types[wanted] = None
        source.values.update(dict.fromkeys(values))
        found = self.type_of(source)
        if found is not None and found is not wanted:
            raise ByHand(_OTHER_TYPE.format(key=source.key, wanted=wanted.value, found=found.value))

    def find_inserted(self, value: Expression) -> str | None:
        """Return why a path shows other content, or None if it does not."""
        parts = find_path(value, self._profile.vocabulary)
        name = "" if parts is None else role_of(parts, self._profile.vocabulary)[1]
        is_inserted = self._profile.vocabulary.is_inserted(name)
        return _INSERTED.format(name=name) if is_inserted else None

    def is_given_variable(self, name: str) -> bool:
        """Return whether a file of names says what this variable means."""
        vocabulary = self._profile.vocabulary
        return bool(vocabulary.variable_mark) and vocabulary.fold(name) in self._keys

    def _read(self, parts: _Parts) -> SourceField:
        profile = self._profile
        role, name = role_of(parts, profile.vocabulary)
        given = self._keys.get(profile.vocabulary.fold(name))
        self.read_names.add(profile.vocabulary.fold(name))
        if given is not None and EVENT_DATA.fullmatch(given) is not None:
            return SourceField(DataPath(given), name)
        event = None if given is not None else self._find_event(parts, role, name)
        if event is not None:
            return SourceField(event, name)
        standard = _find_standard(profile, parts, name)
        if role is not TagRole.FIELD and given is None and standard is None:
            feature = profile.own_features.get(profile.vocabulary.fold(name))
            if profile.vocabulary.is_inserted(name):
                feature = _INSERTED
            message = feature or OTHER_ROLES.get(role, _NO_FIELD)
            raise ByHand(message.format(name=name, title=profile.title))
        key = given or standard or derive_key(_WORDS.sub(" ", name))
        try:
            FieldKey(key)
        except InvalidField:
            message = f"No key can be derived from `{name}`. Give one in a file of names."
            raise ByHand(message) from None
        source = SourceField(key, name, is_given=given is not None)
        other = self._taken.setdefault(key, source)
        if other is not source:
            return self._share(other, source)
        if standard not in {None, _BIRTHDAY}:
            source.types[DataType.TEXT] = None
        return source

    def _share(self, first: SourceField, other: SourceField) -> SourceField:
        """Return the first field, if the other one with its key means the same. Raises: ByHand."""
        names, key, name = self._profile.names, first.key, other.name
        if name != first.name and first.is_given and other.is_given:
            return first
        if not names.standard_forms:  # Otherwise, the ESP keeps its own fields apart from others.
            if name == first.name:
                return first
            if key in names.standard_fields:
                first.alias = name
                return first
        raise ByHand(f"Another name has the key {key}. Give `{name}` one in a file of names.")

    def _find_event(self, parts: _Parts, role: TagRole, name: str) -> DataPath | None:
        """Return the path of event data, or None if this is none. Raises: ByHand."""
        events = self._profile.events
        for way in () if isinstance(events, str) else events.ways:
            root = way.name.split(".") if way.value else []
            members = parts[len(root) :]
            if not way.value and not self._is_bare_event(parts, role, name):
                continue
            if [part.removesuffix(".$") for part in parts[: len(root)]] == root and members:
                self._way = self._way or way.name
                if way.name != self._way:
                    raise ByHand(_OTHER_WAY.format(root=way.name, way=self._way))
                return self._member_path(EVENT, members)
        if role is TagRole.EVENT:
            path = f"{EVENT}.{parts[-1]}"
            hint = _GIVE_PATH.format(name=name, path=path) if EVENT_DATA.fullmatch(path) else ""
            raise ByHand(f"{OTHER_ROLES[TagRole.EVENT]} {hint}".rstrip())
        return None

    def _member_path(self, root: str, members: Sequence[str]) -> DataPath:
        """Return the path of the member of a value. Raises: ByHand if content has none."""
        computed = _COMPUTED.get(self._profile.vocabulary.syntax, frozenset())
        for each in members:
            if each in computed:
                title = self._profile.title
                raise ByHand(_IS_COMPUTED.format(title=title, name=each))
        names = (f"[{each}]" if each.isdecimal() else f'["{each}"]' for each in members)
        path = f"{root}{''.join(names)}"
        if re.fullmatch(DATA_PATH, path) is None:
            raise ByHand(OTHER_ROLES[TagRole.EVENT])
        return DataPath(path)

    def _is_bare_event(self, parts: _Parts, role: TagRole, name: str) -> bool:
        """Return whether a name without a root is event data. Raises: ByHand if it is not clear."""
        events, vocabulary = self._profile.events, self._profile.vocabulary
        if isinstance(events, str) or events.write_path is None or role not in _BARE_ROLES:
            return False
        if parts[0] in vocabulary.fields | vocabulary.nested:
            return False
        if parts[0] in self._lists:
            return True
        if _find_standard(self._profile, parts, name) is not None:
            return False
        if self._bare is None:
            raise ByHand(_AMBIGUOUS.format(name=name))
        return self._bare is Bare.EVENT


def list_names(nodes: Iterable[Node], vocabulary: Vocabulary) -> Iterator[str]:
    """Yield the first names of the lists that the nodes have loops over."""
    for node in walk(nodes):
        path = find_path(node.items, vocabulary) if isinstance(node, Loop) else None
        if path is not None:
            yield path[0]


@cache
def _loop_members(profile: Profile) -> Mapping[_Parts, str]:
    """Return the members of `loop` by their paths at the ESP."""
    events = profile.events
    form = None if isinstance(events, str) else events.loop
    members = {} if form is None else form.members
    codes = {name: profile.filters.output.replace("VALUE", code) for name, code in members.items()}
    paths = {
        name: find_path(read_output(profile, code), profile.vocabulary)
        for name, code in codes.items()
    }
    return {path: name for name, path in paths.items() if path is not None}


def find_path(value: Expression, vocabulary: Vocabulary) -> _Parts | None:
    """Return the names of a path, or None. Filters such as `lookup` read a member."""
    match value:
        case Path(parts) if all(isinstance(each, str | int) for each in parts):
            return tuple(map(str, parts))
        case Call(name, (Literal(str() as text),)) if name in vocabulary.path_functions:
            return tuple(text.split("."))
        case Filtered(inner, filters) if all(
            each.name in vocabulary.member_filters for each in filters
        ):
            path = find_path(inner, vocabulary)
            members = [each.arguments for each in filters]
            if path is None:
                return None
            for arguments in members:
                match arguments:
                    case (Literal(str() as name),):
                        path = (*path, name)
                    case _:
                        return None
            return path
    return None


def _without_root(parts: _Parts, vocabulary: Vocabulary) -> _Parts:
    """Return the path of a field that can be written with and without its root, as without it."""
    is_bare = parts[0] in vocabulary.fields and parts[-1] in vocabulary.bare_fields
    return parts[1:] if is_bare else parts


@cache
def _standard_keys(profile: Profile) -> Mapping[str, str]:
    """Return the keys of the ESP's own fields by their names, as the ESP compares these."""
    fold = profile.vocabulary.fold
    return {fold(name): key for key, name in profile.names.standard_fields.items()}


def _find_standard(profile: Profile, parts: _Parts, name: str) -> str | None:
    """Return the key of the ESP's own field with this path, or None."""
    names = profile.names
    key = _standard_keys(profile).get(profile.vocabulary.fold(name))
    if key is None or not names.standard_forms:
        return key
    with suppress(NoSafeForm):
        code = derive(profile, names.standard_fields[key], standard=True).insertion_code
        path = find_path(read_output(profile, code), profile.vocabulary)
        if path is not None and _without_root(path, profile.vocabulary) == parts:
            return key
    return None
