"""Query parameters: each one is known and well-formed, or the request is rejected.

A typo must not return everything.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping
from enum import Enum
from typing import Any
from urllib.parse import unquote_plus

from attrs import frozen

from recipient_fields.application.documents.schemas import Schema
from recipient_fields.application.documents.value_schemas import NEW_KEY
from recipient_fields.application.fields.texts import is_id
from recipient_fields.domain import (
    FieldKey,
    InvalidField,
    Source,
    character_violation,
    closest_match,
)

from .problems import RequestRejected

MAX_PAGE_SIZE = 1_000
ID_PARAMETER: Schema = {"type": "integer", "minimum": 1, "maximum": 10**16 - 1}
"""The schema of an id in a URL: `is_id` permits 16 digits."""

_MAX_NAME_LENGTH = 32
"""The longest unknown name that a message repeats. An API key is longer, and is never repeated."""
_HALF_ENCODED = re.compile(r"%(?![0-9A-Fa-f]{2})")


def parse_parameters(query_string: str, known: Mapping[str, Parameter]) -> Mapping[str, str]:
    """Return the parameters by name. If one has several values, commas join them.

    Raises: RequestRejected as `invalid_parameter` if a parameter is malformed, unknown, or repeated
    although it has a single value.
    """
    if not query_string:
        return {}
    encoded: dict[str, list[str]] = {}
    for pair in query_string.split("&"):
        name, _, value = pair.partition("=")
        encoded.setdefault(unquote_plus(name), []).append(value)
    unknown = [name for name in encoded if name not in known]
    if unknown:
        raise RequestRejected("invalid_parameter", _unknown(unknown, known))
    repeated = [name for name in encoded if len(encoded[name]) > 1 and not known[name].is_multiple]
    if repeated:
        message = f"Repeated query {_listed(repeated)}. Send each at most once."
        raise RequestRejected("invalid_parameter", message)
    return {
        name: ",".join(_decode(name, value) for value in values) for name, values in encoded.items()
    }


@frozen(kw_only=True)
class Parameter:
    """A query parameter.

    `parse` returns members of a query, or raises ValueError or InvalidField if the value is
    invalid. It is None if the resource reads the value itself. `rule` describes the valid values in
    error messages. A parameter that `is_multiple` has several values, and can be repeated.
    """

    description: str
    schema: object
    parse: Callable[[str], Mapping[str, object]] | None = None
    rule: str = ""
    is_multiple: bool = False


def parse_members(
    parameters: Mapping[str, str], parsers: Mapping[str, Parameter]
) -> dict[str, Any]:
    """Return the members of a query that the parameters describe.

    Raises: RequestRejected as `invalid_parameter` if a value is invalid.
    """
    members: dict[str, Any] = {}
    for name, value in parameters.items():
        parameter = parsers[name]
        if parameter.parse is None:
            continue
        try:
            members |= parameter.parse(value)
        except (ValueError, InvalidField):
            raise invalid_value(name, parameter.rule) from None
    return members


def alternatives(
    member: str, parse: Callable[[str], object], rule: str, *, description: str, schema: object
) -> Parameter:
    """Return a parameter that has several values. `schema` is the one of each value."""
    several = "Separate several values by commas, or repeat the parameter."
    return Parameter(
        description=f"{description} {several}",
        schema={"type": "array", "minItems": 1, "items": schema},
        parse=lambda text: {member: frozenset(parse(one) for one in text.split(","))},
        rule=f"{rule}. {several}",
        is_multiple=True,
    )


def truth_value(member: str, description: str) -> Parameter:
    """Return a parameter that is `true` or `false`, in any case."""

    def parse(text: str) -> Mapping[str, object]:
        if text.lower() not in {"true", "false"}:
            raise ValueError(text)
        return {member: text.lower() == "true"}

    rule = "use `true` or `false`."
    return Parameter(description=description, schema=bool, parse=parse, rule=rule)


def one_of(kind: type[Enum]) -> str:
    """Return the values of the enum, as part of a sentence."""
    *names, last = (f"`{member.value}`" for member in kind)
    return f"{', '.join(names)} or {last}"


def _limit(text: str) -> Mapping[str, object]:
    if not is_id(text) or int(text) > MAX_PAGE_SIZE:
        raise ValueError(text)
    return {"limit": int(text)}


def key_filter(description: str) -> Parameter:
    """Return the parameter with the keys of fields."""
    rule = "use the key of a field, such as `loyalty_tier`"
    return alternatives("keys", FieldKey, rule, description=description, schema=NEW_KEY)


def source_filter(description: str) -> Parameter:
    """Return the parameter with the sources of fields."""
    rule = f"use {one_of(Source)}"
    return alternatives("sources", Source, rule, description=description, schema=Source)


def page_size(description: str) -> Parameter:
    """Return the parameter with the number of items on a page."""
    return Parameter(
        description=description,
        schema={"type": "integer", "minimum": 1, "maximum": MAX_PAGE_SIZE},
        parse=_limit,
        rule=f"use a number from 1 to {MAX_PAGE_SIZE}.",
    )


def invalid_value(name: str, rule: str) -> RequestRejected:
    """Return the error for a known query parameter or header whose value breaks the rule."""
    return RequestRejected("invalid_parameter", f"Invalid value for `{name}`: {rule}")


def _decode(name: str, value: str) -> str:
    rule = "percent-encode it as UTF-8. A percent sign is `%25`."
    if _HALF_ENCODED.search(value):  # `unquote_plus` would keep it unchanged.
        raise invalid_value(name, rule)
    try:
        text = unquote_plus(value, errors="strict")
    except UnicodeDecodeError:
        raise invalid_value(name, rule) from None
    if character_violation(text):
        raise invalid_value(name, "remove the null character.")
    return text


def _unknown(names: list[str], known: Collection[str]) -> str:
    """Return the message about these unknown parameters."""
    problem = f"Unknown query {_listed(names)}."
    if not known:
        return f"{problem} This request has no query parameters."
    meant = closest_match(names[0], known) if len(names) == 1 else None
    if meant is not None:
        return f"{problem} Did you mean `{meant}`?"
    return f"{problem} This request has the {_listed(known)}."


def _listed(names: Collection[str]) -> str:
    noun = "parameter" if len(names) == 1 else "parameters"
    return f"{noun} {', '.join(map(_shown, names))}"


def _shown(name: str) -> str:
    """Return the name as a message may repeat it: only if it is short and printable."""
    return f"`{name}`" if len(name) <= _MAX_NAME_LENGTH and name.isprintable() else "`…`"
