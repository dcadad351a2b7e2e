"""Files with the document of fields, in YAML or JSON.

The files are read from their parse events, so that each violation has a line and a column.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import TypeAlias

from attrs import frozen

from recipient_fields.application import InvalidDocument
from recipient_fields.application.documents.conversion import with_suggestion
from recipient_fields.application.extras import requires_extra
from recipient_fields.application.fields.fields_as_code import (
    CatalogDocument,
    parse_field_document,
)
from recipient_fields.application.fields.texts import parse_value
from recipient_fields.domain import (
    DataType,
    RecipientFieldsError,
    Rule,
    Violation,
)

from ...service.selection import installed_profiles

with requires_extra("cli", "yaml"):
    import yaml

MAX_FILE_SIZE = 4 * 1024 * 1024
"""Bytes of a file. A document of 1,000 fields with long codes has less."""
MAX_DEPTH = 32
"""Levels of lists and objects, as in a request body. A document of fields has four."""

MAX_NODES = 250_000
"""Keys, values, lists and objects. Each takes about 10 µs, and two bytes can contain two of them.

A document of 1,000 fields with 200 allowed values each has 215,000.
"""

_Loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
"""The parser in C, if PyYAML was built with it."""

_NULLS = ("null", "~", "")
_NOT_TEXT = re.compile(
    r"|~|null|true|false|yes|no|on|off|[-+]?[0-9.][-+0-9._:ex]*|[-+]?\.(inf|nan)", re.I
)
"""Matches plain scalars that a YAML parser may read as another type than text."""
_UNQUOTED_CODE = re.compile(r":\s+(?:\{[{%]|\*\|)")
_QUOTE_CODE = " Put a text with code in quotes."
_FORBIDDEN = re.compile(
    "[^\t\n\r -~\xa0-\u2027\u202a-\ud7ff\ue000-\ufefe\uff00-\ufffd\U00010000-\U0010ffff]"
)
"""Control characters, and line breaks that only YAML 1.1 treats as such."""
_TAG_DIRECTIVE = re.compile(r"(?:\A|(?<=[\r\n]))%TAG\b")
"""The parser compares each of these lines with all lines before it, which takes quadratic time."""
_LINE_BREAK = re.compile(r"\r\n?|\n")
_JSON_STRING = re.compile(r'"(?:[^"\\]|\\.)*"')
_SURROGATE_PAIR = re.compile(r"\\u(d[89ab][0-9a-f]{2})\\u(d[c-f][0-9a-f]{2})|\\.", re.I)


@frozen(order=True)
class Place:
    """A place in a file: its line and its column in characters, both from 1."""

    line: int
    column: int


@frozen(order=True)
class FileViolation:
    """A violation, and its place in the file."""

    place: Place
    message: str


class InvalidFile(RecipientFieldsError):
    """The file is not a valid document. `violations` are in the order of their places."""

    def __init__(self, violations: Iterable[FileViolation]) -> None:
        self.violations: tuple[FileViolation, ...] = tuple(sorted(violations))
        super().__init__(self.violations[0].message)


@frozen
class _Node:
    place: Place
    content: _Content
    plain: bool = False
    """Whether the content is a text without quotes."""


@frozen
class _Member:
    key_place: Place
    node: _Node


_Content: TypeAlias = str | list[_Node] | dict[str, _Member]


def parse_file(content: bytes) -> CatalogDocument:
    """Return what a YAML or JSON file defines.

    Raises: InvalidFile if the file breaks a rule of YAML, of this reader or of the document.
    """
    root = _parse_yaml(_decode(content))
    try:
        return parse_field_document(_document(root), installed_profiles())
    except InvalidDocument as error:
        raise InvalidFile(_located(root, each) for each in error.violations) from None


def parse_texts(content: bytes) -> Mapping[str, str]:
    """Return the texts of a YAML or JSON file with one object of texts. Raises: InvalidFile."""
    root = _parse_yaml(_decode(content))
    if not isinstance(root.content, dict):
        raise _invalid(root.place, "Write one text per line, such as `TIER: loyalty_tier`.")
    texts: dict[str, str] = {}
    for name, member in root.content.items():
        if not isinstance(member.node.content, str):
            raise _invalid(member.node.place, f"The value of {name} must be a text.")
        texts[name] = member.node.content
    return texts


def locate_violation(content: bytes, violation: Violation) -> FileViolation:
    """Return the violation of a document at its place in the file."""
    return _located(_parse_yaml(_decode(content)), violation)


def render_yaml(document: object) -> str:
    """Return the document as YAML. Equal documents have the same text."""
    text: str = yaml.dump(
        document, Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=math.inf
    )
    return text


def _decode(content: bytes) -> str:
    if len(content) > MAX_FILE_SIZE:
        raise _invalid(Place(1, 1), f"The file is larger than {MAX_FILE_SIZE >> 20} MiB.")
    try:
        text = content.decode("utf-8")
    except UnicodeDecodeError as error:
        place = _place_at(content[: error.start].decode("utf-8"))
        raise _invalid(place, "The file is not UTF-8. Save it as UTF-8.") from None
    text = text.removeprefix("\ufeff")
    forbidden = _FORBIDDEN.search(text)
    if forbidden is not None:
        escape = f"\\u{ord(forbidden[0]):04x}"
        message = f'The file contains a control character. Write "{escape}" in double quotes.'
        raise _invalid(_place_at(text[: forbidden.start()]), message)
    directive = _TAG_DIRECTIVE.search(text)
    if directive is not None:
        place = _place_at(text[: directive.start()])
        raise _invalid(place, "Tags are not supported. Remove this line.")
    return _adapted_json(text)


def _adapted_json(text: str) -> str:
    """Return a JSON text as YAML: without tabs and surrogate pairs. Return another text as it is.

    Only YAML parsers report the places of values. JSON is YAML except for these two.
    """
    if not text.lstrip().startswith("{"):
        return text
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        return text
    return _JSON_STRING.sub(_joined_pairs, text.replace("\t", " "))


def _joined_pairs(string: re.Match[str]) -> str:
    """Return the string with characters for surrogate pairs, and spaces for the same length."""
    return _SURROGATE_PAIR.sub(_joined_pair, string[0]).ljust(len(string[0]))


def _joined_pair(escape: re.Match[str]) -> str:
    if escape[1] is None:
        return escape[0]
    pair = bytes.fromhex(escape[1] + escape[2])
    return pair.decode("utf-16-be")


def _parse_yaml(text: str) -> _Node:
    reader = _Reader(text)
    try:
        root = reader.document()
    except yaml.MarkedYAMLError as error:
        raise _syntax_error(text, error) from None
    if reader.violations:
        raise InvalidFile(reader.violations)
    return root


class _Reader:
    """Reads nodes from the events of a YAML parser, and collects what documents can't contain."""

    def __init__(self, text: str) -> None:
        self.violations: list[FileViolation] = []
        self._nodes = 0
        self._events: Iterator[yaml.Event] = yaml.parse(text, Loader=_Loader)

    def document(self) -> _Node:
        """Return the root of the only document."""
        next(self._events)  # the start of the stream
        start = next(self._events)
        if isinstance(start, yaml.StreamEndEvent):
            raise _invalid(Place(1, 1), "The file is empty. Begin it with `fields:`.")
        root = self._node(next(self._events), depth=1)
        next(self._events)  # the end of the document
        end = next(self._events)
        if not isinstance(end, yaml.StreamEndEvent):
            self._report(_place_of(end), "A file has only one document. Remove this one.")
        return root

    def _node(self, event: yaml.Event, *, depth: int) -> _Node:
        place = _place_of(event)
        if depth > MAX_DEPTH:
            raise _invalid(place, f"The document is nested deeper than {MAX_DEPTH} levels.")
        self._nodes += 1
        if self._nodes > MAX_NODES:
            raise _invalid(
                place, f"The document has more than {MAX_NODES:,} keys and values. Remove the rest."
            )
        if isinstance(event, yaml.AliasEvent):
            self._report(place, "Aliases are not supported. Repeat the value.")
        elif isinstance(event, yaml.NodeEvent) and event.anchor is not None:
            self._report(place, "Anchors are not supported. Remove the anchor.")
        if getattr(event, "tag", None) is not None:
            self._report(place, "Tags are not supported. Remove the tag.")
        if isinstance(event, yaml.SequenceStartEvent):
            return _Node(place, self._items(depth))
        if isinstance(event, yaml.MappingStartEvent):
            return _Node(place, self._members(depth))
        if isinstance(event, yaml.ScalarEvent):
            return _Node(place, event.value, plain=not event.style)
        return _Node(place, "")

    def _items(self, depth: int) -> list[_Node]:
        items = []
        while not isinstance(event := next(self._events), yaml.SequenceEndEvent):
            items.append(self._node(event, depth=depth + 1))
        return items

    def _members(self, depth: int) -> dict[str, _Member]:
        members: dict[str, _Member] = {}
        while not isinstance(event := next(self._events), yaml.MappingEndEvent):
            key = self._node(event, depth=depth + 1)
            node = self._node(next(self._events), depth=depth + 1)
            name = self._name(key)
            if name in members:
                line = members[name].key_place.line
                self._report(key.place, f"The key {name} is already in line {line}.")
            else:
                members[name] = _Member(key.place, node)
        return members

    def _name(self, key: _Node) -> str:
        if not isinstance(key.content, str):
            hint = _QUOTE_CODE if isinstance(key.content, dict) else ""
            self._report(key.place, f"A key must be a text.{hint}")
            return ""
        if key.plain and key.content == "<<":
            self._report(key.place, "Merge keys are not supported. Repeat the members.")
        elif key.plain and _NOT_TEXT.fullmatch(key.content):
            example = json.dumps(key.content)
            self._report(key.place, f"A key must be a text. Put it in quotes: {example}.")
        return key.content

    def _report(self, place: Place, message: str) -> None:
        self.violations.append(FileViolation(place, message))


def _syntax_error(text: str, error: yaml.MarkedYAMLError) -> InvalidFile:
    mark = error.problem_mark or error.context_mark
    if mark is None:
        return _invalid(Place(1, 1), f"The file is not valid YAML: {error.problem}.")
    place = Place(mark.line + 1, mark.column + 1)
    character = text[mark.index : mark.index + 1]
    if character == "\t":
        return _invalid(place, "Indent with spaces, not with tabs.")
    if character and character in "`@%":
        return _invalid(place, f"Put this text in quotes: YAML reserves {character} at its start.")
    line = text[text.rfind("\n", 0, mark.index) + 1 : mark.index + 2]
    hint = _QUOTE_CODE if _UNQUOTED_CODE.search(line) else ""
    return _invalid(place, f"The file is not valid YAML: {error.problem}.{hint}")


def _document(root: _Node) -> object:
    """Return the value of the root. Each plain scalar has the type that its place requires."""
    document = _members(root, lambda _name, node: _value(node))
    if isinstance(document, dict) and "fields" in document:
        document["fields"] = _members(_child(root, "fields"), lambda _key, node: _field(node))
    integrations = _child(root, "integrations").content
    if isinstance(document, dict) and isinstance(integrations, list):
        document["integrations"] = [_members(each, _integration_member) for each in integrations]
    return document


def _field(node: _Node) -> object:
    def member(name: str, value: _Node) -> object:
        if name == "insertable":
            return _value(value, _boolean)
        if name == "allowed_values" and _child(node, "data_type").content == "number":
            return _value(value, lambda text: parse_value(text, DataType.NUMBER))
        return _value(value)

    return _members(node, member)


def _integration_member(name: str, node: _Node) -> object:
    if name == "names":
        return _members(node, lambda _key, each: _members(each, _name_member))
    return _value(node)


def _name_member(name: str, node: _Node) -> object:
    return _value(node, _boolean if name == "custom" else str)


def _members(node: _Node, value: Callable[[str, _Node], object]) -> object:
    if not isinstance(node.content, dict):
        return _value(node)
    return {name: value(name, member.node) for name, member in node.content.items()}


def _value(node: _Node, parse_plain: Callable[[str], object] = str) -> object:
    """Return the value of the node. `parse_plain` converts texts without quotes, except nulls."""
    match node.content:
        case str(text):
            if not node.plain:
                return text
            return None if text in _NULLS else parse_plain(text)
        case list(items):
            return [_value(item, parse_plain) for item in items]
        case members:
            return {name: _value(each.node, parse_plain) for name, each in members.items()}


def _boolean(text: str) -> object:
    return {"true": True, "false": False}.get(text, text)


_ABSENT = _Node(Place(1, 1), "", plain=True)


def _child(node: _Node, name: str) -> _Node:
    """Return the member of the node, or a null if it has no such member."""
    if isinstance(node.content, dict) and name in node.content:
        return node.content[name].node
    return _ABSENT


def _located(root: _Node, violation: Violation) -> FileViolation:
    path = ".".join(map(str, violation.path))
    message = with_suggestion(violation).message
    return FileViolation(_locate(root, violation), f"{path}: {message}" if path else message)


def _locate(root: _Node, violation: Violation) -> Place:
    """Return the place of the invalid value, or of the object without a required member.

    The place of an object is its key, and so is that of an unknown member.
    """
    node, key_place = root, root.place
    for step in violation.path:
        match node.content, step:
            case dict(members), str() if step in members:
                key_place, node = members[step].key_place, members[step].node
            case list(items), int():
                key_place, node = items[step].place, items[step]
            case _:
                return key_place
    about_key = violation.rule is Rule.UNKNOWN_FIELD or isinstance(node.content, dict)
    return key_place if about_key else node.place


def _place_of(event: yaml.Event) -> Place:
    mark = event.start_mark
    return Place(1, 1) if mark is None else Place(mark.line + 1, mark.column + 1)


def _place_at(before: str) -> Place:
    """Return the place after this text."""
    lines = _LINE_BREAK.split(before)
    return Place(len(lines), len(lines[-1]) + 1)


def _invalid(place: Place, message: str) -> InvalidFile:
    return InvalidFile([FileViolation(place, message)])


class _Dumper(yaml.SafeDumper):
    """Writes a text of several lines as a block, or in quotes if a block can't contain it."""


def _represent_text(dumper: yaml.SafeDumper, text: str) -> yaml.ScalarNode:
    style = None
    if _FORBIDDEN.search(text) or "\r" in text or "\t" in text:
        style = '"'
    elif "\n" in text:
        style = "|"
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style=style)


_Dumper.add_representer(str, _represent_text)
_Dumper.add_multi_representer(str, _represent_text)  # for the subclasses of the domain
