"""The types of the values of options and arguments, and options of several commands with them."""

from __future__ import annotations

import json
import os
import re
from datetime import datetime, timedelta
from enum import Enum
from typing import IO, Any, cast

import click

from recipient_fields.application.fields.texts import is_id
from recipient_fields.domain import (
    MAX_SAFE_INTEGER,
    DataType,
    FieldKey,
    InvalidField,
    NoSuchTime,
    Unchanged,
    closest_match,
    parse_instant,
)
from recipient_fields.domain.esp import Esp

from ..service.selection import installed_profiles
from .options import Option, option

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


class Identifier(click.ParamType[int]):
    """A whole number that can be an id."""

    name = "id"

    def convert(
        self, value: str | int, param: click.Parameter | None, ctx: click.Context | None
    ) -> int:
        """Return the id. A text that can't be one is a usage error."""
        if isinstance(value, int):
            return value
        if not is_id(value) or int(value) > MAX_SAFE_INTEGER:
            self.fail("use an id, for example 1.", param, ctx)
        return int(value)


class Key(click.ParamType[FieldKey]):
    """The key of a field."""

    name = "key"

    def convert(
        self, value: str, param: click.Parameter | None, ctx: click.Context | None
    ) -> FieldKey:
        """Return the key. A text that can't be one is a usage error."""
        try:
            return FieldKey(value)
        except InvalidField as error:
            self.fail(str(error), param, ctx)


class Duration(click.ParamType[timedelta]):
    """`30s`, `15m`, `12h` or `90d`."""

    name = "duration"

    def convert(
        self, value: str | timedelta, param: click.Parameter | None, ctx: click.Context | None
    ) -> timedelta:
        """Return the duration. Another text is a usage error."""
        if isinstance(value, timedelta):
            return value
        match = _DURATION.fullmatch(value)
        if match is None:
            self.fail("use a duration such as 30s, 15m, 12h or 90d.", param, ctx)
        return timedelta(**{_UNITS[match[2]]: int(match[1])})


class Lifetime(Duration):
    """A duration, or `never`."""

    name = "duration|never"

    def convert(  # type: ignore[override]
        self, value: str | timedelta, param: click.Parameter | None, ctx: click.Context | None
    ) -> timedelta | None:
        """Return the duration, or None for `never`."""
        return None if value == "never" else super().convert(value, param, ctx)


class Instant(click.ParamType[datetime]):
    """`2026-11-20T09:15:00Z`, with any time zone."""

    name = "instant"

    def convert(
        self, value: str | datetime, param: click.Parameter | None, ctx: click.Context | None
    ) -> datetime:
        """Return the time. Another text is a usage error."""
        if isinstance(value, datetime):
            return value
        try:
            return parse_instant(value)
        except NoSuchTime as error:
            self.fail(str(error), param, ctx)
        except (ValueError, OverflowError):
            self.fail("use a time such as 2026-11-20T09:15:00Z.", param, ctx)


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


class ValueList(click.ParamType[list[object] | str | Unchanged | None]):
    """`red,green`, a JSON array, or `null`; as a default, UNCHANGED."""

    name = "values"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> list[object] | str | Unchanged | None:
        """Return a JSON array as a list, `null` as None, and any other text as it is.

        A text that begins like a JSON array and is none is a usage error.
        """
        if not isinstance(value, str):
            return cast("list[object] | Unchanged | None", value)
        if value.strip() == "null":
            return None
        if not value.lstrip().startswith("["):
            return value
        try:
            array: list[object] = json.loads(value)
        except (ValueError, RecursionError):
            self.fail("""use red,green or a JSON array such as '["red", "green"]'.""", param, ctx)
        return array


esp_option: Option = option(
    "--esp",
    type=EspName(),
    required=True,
    metavar="ESP",
    help="The email service provider: an id from `esp list`.",
)


def data_type_option(**settings: Any) -> Option:
    """Return the option for the type of a field's values."""
    return option(
        "--data-type", type=OneOf(DataType), help="The type of the field's values.", **settings
    )
