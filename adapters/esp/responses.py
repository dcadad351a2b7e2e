"""Responses of an ESP: JSON as values of attrs classes, one per object of its documentation."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Annotated, TypeAlias, TypeVar

from attrs import field, frozen
from cattrs.gen import override

from recipient_fields.application import InvalidDocument, NotJson
from recipient_fields.application.documents.conversion import parse_document
from recipient_fields.application.documents.strict_json import parse_json
from recipient_fields.domain import InvalidInput, Rule, Violation
from recipient_fields.domain.text import to_line

from .api import Api

T = TypeVar("T")

Item: TypeAlias = Mapping[str, object]
"""An object in a list. Lists are read before their items, so that one item can be rejected."""

_MAX_PATH = 100
_MAX_ACCOUNT = 200
_NUMBER = re.compile("[0-9]{1,15}")


@frozen(kw_only=True)
class Response:
    """A complete, successful response, and the URL of its request."""

    api: Api
    url: str
    headers: Mapping[str, str]
    body: bytes = field(repr=False)

    def read(self, kind: type[T]) -> T:
        """Return the JSON as a value of this class; other members are ignored.

        Raises: EspRefused if it is not JSON, or does not match the class.
        """
        # A chained error would repeat the body, which may contain the credentials.
        try:
            return read_item(parse_json(self.body), kind)
        except NotJson:
            raise self.api.refused(
                f"sent a response that is not JSON: check {self.api.named('url')}"
            ) from None
        except InvalidDocument as invalid:
            raise self.api.undocumented(describe(invalid)) from None


def read_item(item: object, kind: type[T]) -> T:
    """Return the JSON value as a value of this class; other members are ignored.

    Raises: InvalidDocument if it does not match the class.
    """
    return parse_document(item, kind, ignore_unknown=True)


def describe_account(name: str | None, identity: object) -> str:
    """Return the name of an account with its id, because two accounts can have the same name."""
    return to_line(f"{name} ({identity})" if name else str(identity), max_length=_MAX_ACCOUNT)


def describe(invalid: InvalidDocument) -> str:
    """Return the path and the message of the first violation."""
    violation = invalid.violations[0]
    path = ascii(".".join(str(step) for step in violation.path))[1:-1]
    message = "It is missing." if violation.rule is Rule.REQUIRED else violation.message
    return f"{path[:_MAX_PATH]}: {message}" if path else message


def _whole_number(value: object, _kind: object) -> int:
    if type(value) not in {int, str} or _NUMBER.fullmatch(str(value)) is None:
        raise InvalidInput([Violation(Rule.TYPE, "This must be a whole number.")])
    return int(str(value))


WholeNumber: TypeAlias = Annotated[int, override(struct_hook=_whole_number)]
"""A non-negative integer, which some ESPs send as a string."""
