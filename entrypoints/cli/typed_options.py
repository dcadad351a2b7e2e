"""The types of the values of options and arguments, and options of several commands with them."""

from __future__ import annotations

import json
import os
import re
from datetime import datetime, timedelta
from enum import Enum
from typing import IO, Any

import click

from recipient_fields.application.fields.texts import is_id
from recipient_fields.domain import (
    MAX_SAFE_INTEGER,
    DataType,
    FieldKey,
    NoSuchTime,
    closest_match,
    parse_instant,
)
from recipient_fields.domain.esp import Esp

from ..service.selection import installed_profiles
from .options import Option, Parsed, option

_DURATION = re.compile(r"([0-9]{1,9})([smhd])")
_UNITS = {"s": "seconds", "m": "minutes", "h": "hours", "d": "days"}


class InputFile(click.File):
    """A file to read. If it can't be opened, the command exits with 1, as if it can't be read."""

    def __init__(self) -> None:
        super().__init__("rb")

    def convert(
        self,
        value: str | os.PathLike[str] | IO[Any],
        param: click.Parameter | None,
        ctx: click.Context | None,
    ) -> IO[Any]:
        """Return the open file."""
        try:
            return super().convert(value, param, ctx)
        except click.BadParameter as error:
            raise click.ClickException(error.message) from None


def _parse_id(text: str) -> int:
    if not is_id(text) or int(text) > MAX_SAFE_INTEGER:
        raise ValueError("use an id, for example 1.")
    return int(text)


def _parse_duration(text: str) -> timedelta:
    match = _DURATION.fullmatch(text)
    if match is None:
        raise ValueError("use a duration such as 30s, 15m, 12h or 90d.")
    return timedelta(**{_UNITS[match[2]]: int(match[1])})


def _parse_lifetime(text: str) -> timedelta | None:
    return None if text == "never" else _parse_duration(text)


def _parse_instant(text: str) -> datetime:
    try:
        return parse_instant(text)
    except NoSuchTime:
        raise
    except (ValueError, OverflowError):
        raise ValueError("use a time such as 2026-11-20T09:15:00Z.") from None


def _parse_values(text: str) -> object:
    if text.strip() == "null":
        return None
    if not text.lstrip().startswith("["):
        return text
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        message = """use red,green or a JSON array such as '["red", "green"]'."""
        raise ValueError(message) from None


IDENTIFIER = Parsed("id", _parse_id)
KEY = Parsed("key", FieldKey)
DURATION = Parsed("duration", _parse_duration)
"""`30s`, `15m`, `12h` or `90d`."""
LIFETIME = Parsed("duration|never", _parse_lifetime)
"""A duration, or None for `never`."""
INSTANT = Parsed("instant", _parse_instant)
"""`2026-11-20T09:15:00Z`, with any time zone."""
VALUE_LIST = Parsed("values", _parse_values)
"""A JSON array as a list, `null` as None, and any other text, such as `red,green`, as it is."""


class Word(click.Choice[str]):
    """One of some words."""

    def convert(self, value: str, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """Return the word. Another text is a usage error."""
        try:
            return super().convert(value, param, ctx)
        except click.BadParameter as error:
            similar = self.find_similar(value)
            if similar is None:
                raise
            self.fail(f"{error.message} Did you mean {similar}?", param, ctx)

    def find_similar(self, value: str) -> str | None:
        """Return the word that another text means, or None."""
        return closest_match(value, self.choices)


class OneOf(Word):
    """A member of an enumeration, by its value."""

    def __init__(self, kind: type[Enum]) -> None:
        super().__init__([member.value for member in kind])
        self._kind = kind

    def convert(  # type: ignore[override]
        self, value: str | Enum, param: click.Parameter | None, ctx: click.Context | None
    ) -> Enum:
        """Return the member. Another text is a usage error."""
        return value if isinstance(value, Enum) else self._kind(super().convert(value, param, ctx))


class EspName(click.ParamType[Esp]):
    """The name of an ESP whose profile is installed."""

    name = "esp"

    def convert(self, value: str, param: click.Parameter | None, ctx: click.Context | None) -> Esp:
        """Return the name. Another text is a usage error."""
        return Esp(_esps().convert(value, param, ctx))

    def get_missing_message(self, param: click.Parameter, ctx: click.Context | None) -> str | None:
        """Return the names, if none is given."""
        return _esps().get_missing_message(param, ctx)


class _EspWord(Word):
    def find_similar(self, value: str) -> str | None:
        return installed_profiles().find_similar(value)


def _esps() -> Word:
    return _EspWord([*map(str, installed_profiles().esps)])


esp_option: Option = option(
    "--esp",
    type=EspName(),
    required=True,
    help="The email service provider: an id from `esp list`.",
)


def data_type_option(**settings: Any) -> Option:
    """Return the option for the type of a field's values."""
    return option(
        "--data-type", type=OneOf(DataType), help="The type of the field's values.", **settings
    )
