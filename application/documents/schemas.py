"""The attrs classes of documents: their JSON Schemas (2020-12), and their JSON.

The first paragraph of a class' docstring is the description of its objects. `described` adds what
the type of an attribute can't express. A schema that is written by hand contains types in place of
their schemas.
"""

from __future__ import annotations

import inspect
from collections.abc import Mapping, Sequence
from datetime import datetime
from enum import Enum
from functools import cache
from types import NoneType, UnionType
from typing import Any, TypeAlias, Union, get_args, get_origin, get_type_hints

from attrs import NOTHING, Attribute, Factory, evolve, field, fields, frozen, has

from recipient_fields.domain import UNCHANGED, Unchanged, format_instant

Schema: TypeAlias = Mapping[str, Any]

_METADATA = "schema"
_SUFFIX = "Document"
_SIMPLE: Mapping[Any, Schema] = {
    bool: {"type": "boolean"},
    int: {"type": "integer"},
    float: {"type": "number"},
    str: {"type": "string"},
    object: {},
}


@frozen(eq=False)
class NamedSchema:
    """A schema that others refer to by its name."""

    name: str
    schema: Schema


def named(name: str, /, **schema: object) -> NamedSchema:
    """Return the schema with these keywords as one with a name."""
    return NamedSchema(name, schema)


@frozen(eq=False)
class Reference:
    """The text of a reference to a schema."""

    target: NamedSchema


@frozen(eq=False)
class _Extended:
    part: object
    keywords: Schema


def extended(part: object, **keywords: object) -> object:
    """Return the schema of a type, or this schema, with more keywords."""
    return _Extended(part, keywords)


def described(
    description: str | None = None, schema: object = None, **keywords: object
) -> dict[str, object]:
    """Return the metadata of an attribute: its description and its schema.

    `schema` replaces the one of the attribute's type. The keywords are added to it.
    """
    if description is not None:
        keywords["description"] = description
    return {_METADATA: (schema, keywords)}


def omittable(description: str | None = None, schema: object = None, **keywords: object) -> Any:
    """Return an attribute for a member that can be omitted: it is UNCHANGED then.

    The arguments are those of `described`.
    """
    return field(default=UNCHANGED, metadata=described(description, schema, **keywords))


def schema_name(kind: type) -> str:
    """Return the name of the class' schema: its `schema_name`, or its own without `Document`."""
    name: str = getattr(kind, "schema_name", kind.__name__.removesuffix(_SUFFIX))
    return name


def docstring(described_object: object) -> tuple[str, str]:
    """Return the first paragraph of a docstring and the others, each on one line."""
    paragraphs = (inspect.getdoc(described_object) or "").split("\n\n")
    first, *others = (" ".join(paragraph.split()) for paragraph in paragraphs)
    return first, "\n\n".join(others)


@frozen(kw_only=True)
class SchemaGenerator:
    """Generates schemas.

    `types` contains the schemas of types that are no classes of attrs. References begin with
    `prefix`, and `definitions` collects what they refer to. Without a prefix, all schemas are
    inline, and none can refer to itself. Objects of `closed` schemas have no other members, as in
    documents to parse.
    """

    types: Mapping[Any, object]
    prefix: str | None = None
    closed: bool = False
    definitions: dict[str, Schema] = Factory(dict)

    def for_requests(self) -> SchemaGenerator:
        """Return a generator of closed schemas with the same definitions."""
        return evolve(self, closed=True)

    def schema(self, part: Any) -> Any:
        """Return the schema of a type, or this schema with the schemas of the types in it."""
        match part:
            case NamedSchema(name=name, schema=schema):
                return self._named(name, schema)
            case Reference(target=target):
                return self.schema(target)["$ref"]
            case _Extended(part=extended_part, keywords=keywords):
                return {**self.schema(extended_part), **self.schema(keywords)}
            case Mapping():
                return {name: self.schema(value) for name, value in part.items()}
            case list() | tuple():
                return [self.schema(each) for each in part]
            case None | bool() | int() | float() | str():
                return part
        if part in self.types:
            return self.schema(self.types[part])
        if part in _SIMPLE:
            return _SIMPLE[part]
        if isinstance(part, type) and has(part):
            return self._named(schema_name(part), part)
        return self._generic(part)

    def _generic(self, kind: Any) -> Schema:
        origin, arguments = get_origin(kind), get_args(kind)
        if origin in {list, tuple, Sequence}:
            return {"type": "array", "items": self.schema(arguments[0])}
        if origin in {dict, Mapping}:
            return {"type": "object", "additionalProperties": True}
        if origin not in {Union, UnionType}:
            raise TypeError(f"{kind} has no schema")
        if Unchanged in arguments:
            sent: Any = Union[tuple(each for each in arguments if each is not Unchanged)]  # noqa: UP007
            return self._schema_of(sent)
        alternatives = [
            {"type": "null"} if each is NoneType else self.schema(each) for each in arguments
        ]
        if all("type" in each for each in alternatives):
            keywords = {name: value for each in alternatives for name, value in each.items()}
            return {**keywords, "type": [each["type"] for each in alternatives]}
        return {"oneOf": alternatives}

    def _schema_of(self, kind: Any) -> Schema:
        schema: Schema = self.schema(kind)
        return schema

    def _named(self, name: str, schema: object) -> Schema:
        def generate() -> Schema:
            if isinstance(schema, type):
                return self._object(schema)
            return self._schema_of(schema)

        if self.prefix is None:
            return generate()
        if name not in self.definitions:
            self.definitions[name] = {}  # A schema can refer to itself.
            self.definitions[name] = generate()
        return {"$ref": f"{self.prefix}{name}"}

    def _object(self, kind: type) -> Schema:
        """Return the schema of the objects of an attrs class."""
        hints = get_type_hints(kind)
        more = self._schema_of(getattr(kind, "schema", {}))
        properties = {each.name: self._member(each, hints[each.name]) for each in fields(kind)}
        required = [each.name for each in fields(kind) if each.default is NOTHING]
        return {
            "type": "object",
            "description": docstring(kind)[0],
            **({"additionalProperties": False} if self.closed else {}),
            **({"required": required} if required else {}),
            **more,
            "properties": {**properties, **more.get("properties", {})},
        }

    def _member(self, attribute: Attribute[Any], kind: Any) -> Schema:
        schema, keywords = attribute.metadata.get(_METADATA, (None, {}))
        return self._schema_of(_Extended(kind if schema is None else schema, keywords))


def render_document(document: Any) -> dict[str, Any]:
    """Return the members of a document for JSON, without those that are UNCHANGED."""
    members = {}
    kind: type = type(document)
    for name in _member_names(kind):
        value = getattr(document, name)
        if value is not UNCHANGED:
            members[name] = _render(value)
    return members


def _render(value: Any) -> Any:
    kind: type = type(value)
    if kind is list or kind is tuple:
        return [_render(each) for each in value]
    if _member_names(kind):
        return render_document(value)
    if isinstance(value, datetime):
        return format_instant(value)
    return value.value if isinstance(value, Enum) else value


@cache
def _member_names(kind: type) -> tuple[str, ...]:
    """Return the names of the members of a class of documents. Other classes have none."""
    return tuple(each.name for each in fields(kind)) if has(kind) else ()
