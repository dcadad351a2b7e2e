"""What the commands' options have in common."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from datetime import timedelta
from enum import Enum
from typing import Any, Protocol, TypeVar, cast

import click

from recipient_fields.application.references import is_id
from recipient_fields.domain import MAX_SAFE_INTEGER, DataType, Unchanged
from recipient_fields.domain.esp import Esp

from ..composition import VARIABLE_PREFIX, Core, existing_storage, open_core

F = TypeVar("F", bound=Callable[..., object])


class Option(Protocol):
    """Gives a command an option."""

    def __call__(self, command: F, /) -> F:
        """The command with the option."""


_DURATION = re.compile(r"([0-9]{1,9})([smhd])")
_UNITS = {"s": "seconds", "m": "minutes", "h": "hours", "d": "days"}


class EnvironmentOption(click.Option):
    """An option that can also be set as RECIPIENT_FIELDS_ and its name."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.envvar: str | Sequence[str] | None = _variable(self.opts)

    def value_from_envvar(self, ctx: click.Context) -> Any:
        """What the environment says, under the option's name or that of its opposite."""
        value = super().value_from_envvar(ctx)
        if value is None and self.secondary_opts:
            opposite = os.environ.get(_variable(self.secondary_opts))
            return not click.BOOL(opposite, self, ctx) if opposite else None
        return value


def option_variables(command: click.Command) -> Iterator[str]:
    """Every variable that sets an option of the command or of one below it."""
    for parameter in command.params:
        if isinstance(parameter, EnvironmentOption):
            yield _variable(parameter.opts)
            if parameter.secondary_opts:
                yield _variable(parameter.secondary_opts)
    if isinstance(command, click.Group):
        for each in command.commands.values():
            yield from option_variables(each)


def _variable(names: Sequence[str]) -> str:
    longest = max(names, key=len).lstrip("-")
    return f"{VARIABLE_PREFIX}{longest.replace('-', '_').upper()}"


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
            self.fail("Use an id, which is a whole number like 1.", param, ctx)
        return int(value)


class Duration(click.ParamType[timedelta]):
    """`30s`, `15m`, `12h` or `90d`."""

    name = "duration"

    def convert(
        self, value: str | timedelta, param: click.Parameter | None, ctx: click.Context | None
    ) -> timedelta:
        """The duration; a usage error where the text names none."""
        if isinstance(value, timedelta):
            return value
        match = _DURATION.fullmatch(value)
        if match is None:
            self.fail("Write a duration like 30s, 15m, 12h or 90d.", param, ctx)
        return timedelta(**{_UNITS[match[2]]: int(match[1])})


class Lifetime(Duration):
    """A duration, or `never`."""

    name = "duration|never"

    def convert(  # type: ignore[override]
        self, value: str | timedelta, param: click.Parameter | None, ctx: click.Context | None
    ) -> timedelta | None:
        """The duration; None for `never`."""
        return None if value == "never" else super().convert(value, param, ctx)


class OneOf(click.Choice[str]):
    """A member of an enumeration, by its value."""

    def __init__(self, kind: type[Enum]) -> None:
        super().__init__([member.value for member in kind])
        self._kind = kind

    def convert(  # type: ignore[override]
        self, value: str | Enum, param: click.Parameter | None, ctx: click.Context | None
    ) -> Enum:
        """The member; a usage error that lists the values where there is no such one."""
        return value if isinstance(value, Enum) else self._kind(super().convert(value, param, ctx))


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
            self.fail("""Use red,green or a JSON array like '["red", "green"]'.""", param, ctx)
        return array


def option(*names: str, **settings: Any) -> Option:
    """A click option that the environment can set, too."""
    return click.option(*names, cls=EnvironmentOption, **settings)


esp_option: Option = option(
    "--esp",
    type=OneOf(Esp),
    required=True,
    metavar="ESP",
    help="The email service provider: an id that `esp list` shows.",
)


def data_type_option(**settings: Any) -> Option:
    """The option that says what a field holds."""
    return option("--data-type", type=OneOf(DataType), help="What it holds.", **settings)


json_option: Option = option(
    "--json", "as_json", is_flag=True, help="Print one JSON document on standard output."
)


@contextmanager
def opened(storage: str, **settings: Any) -> Iterator[Core]:
    """The use cases over that storage, for one command; `settings` are those of `open_core`."""
    core = open_core(storage, **settings)
    try:
        yield core
    finally:
        core.storage.close()


def existing(storage: str) -> AbstractContextManager[Core]:
    """Do the same, but don't create a SQLite file at a misspelt path."""
    return opened(existing_storage(storage))
