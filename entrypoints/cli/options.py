"""What the commands' options have in common."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from datetime import timedelta
from enum import Enum
from typing import Any, Protocol, TypeVar

import click

from recipient_fields.domain import LARGEST_INTEGER, DataType, Unchanged
from recipient_fields.domain.esp import Esp

from ..composition import VARIABLE_PREFIX, Core, open_core

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


class Identifier(click.IntRange):
    """A whole number that can be an id."""

    name = "id"

    def __init__(self) -> None:
        super().__init__(min=1, max=LARGEST_INTEGER)


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


class JsonArray(click.ParamType[list[object] | Unchanged | None]):
    """A JSON array, or `null`; as a default, UNCHANGED."""

    name = "json"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> list[object] | Unchanged | None:
        """The array; a usage error where the text is none."""
        if isinstance(value, Unchanged):
            return value
        try:
            array = json.loads(value)
        except (ValueError, RecursionError):
            array = value
        if array is not None and not isinstance(array, list):
            self.fail("""Write a JSON array, like '["gold", "silver"]'.""", param, ctx)
        return array


def option(*names: str, **settings: Any) -> Option:
    """A click option that the environment can set, too."""
    return click.option(*names, cls=EnvironmentOption, **settings)


organization_option: Option = option(
    "--organization",
    type=Identifier(),
    required=True,
    metavar="ID",
    help="The organization's id.",
)
esp_option: Option = option(
    "--esp", type=OneOf(Esp), required=True, help="The email service provider; see `esp list`."
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
    """The same, where a misspelt path must not make an SQLite file."""
    return opened(storage, make=False)
