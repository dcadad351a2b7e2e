"""Options of several commands, and the types of their values."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from datetime import datetime, timedelta
from enum import Enum
from typing import IO, Any, Protocol, TypeVar, cast, get_args

import click
from attrs import Attribute, fields_dict
from click.core import ParameterSource
from click.types import BoolParamType

from recipient_fields.application import Core
from recipient_fields.application.environment import (
    FILE_SUFFIX,
    UnusableCredentials,
    read_secret,
)
from recipient_fields.application.fields.references import is_id
from recipient_fields.domain import (
    MAX_SAFE_INTEGER,
    DataType,
    NoSuchTime,
    Unchanged,
    closest_match,
    parse_instant,
)
from recipient_fields.domain.esp import Esp

from ..service.selection import existing_storage, open_core
from ..service.settings import Settings, parse_setting, variable_of
from .output import printable

F = TypeVar("F", bound=Callable[..., object])


class Option(Protocol):
    """A decorator that adds options to a command."""

    def __call__(self, command: F, /) -> F:
        """Return the command with the options."""


_DURATION = re.compile(r"([0-9]{1,9})([smhd])")
_UNITS = {"s": "seconds", "m": "minutes", "h": "hours", "d": "days"}


class EnvironmentOption(click.Option):
    """An option that can also be set by the environment variable RECIPIENT_FIELDS_ and its name.

    `is_secret`: the value can contain a password. The variable with `_FILE` at its end can contain
    the path of a file with the value.
    """

    type: click.ParamType[Any]

    def __init__(self, *args: Any, is_secret: bool = False, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.is_secret = is_secret
        if self.is_flag:
            self.type = _Boolean()
        self.envvar: str | Sequence[str] | None = _variable(self.opts)

    def get_error_hint(self, ctx: click.Context | None) -> str:
        """Return what an error calls the option: the variable, if the value is from it."""
        is_variable = (
            ctx is not None
            and ctx.get_parameter_source(str(self.name)) is ParameterSource.ENVIRONMENT
        )
        if not is_variable:
            return super().get_error_hint(ctx)
        names = (_variable(opts) for opts in (self.opts, self.secondary_opts) if opts)
        return next((each for each in names if os.environ.get(each)), _variable(self.opts))

    def value_from_envvar(self, ctx: click.Context) -> Any:
        """Return the value of the option's variable, or the opposite of its opposite's."""
        value = self._read_secret() if self.is_secret else super().value_from_envvar(ctx)
        if value is None and self.secondary_opts:
            opposite = os.environ.get(_variable(self.secondary_opts))
            if not opposite:
                return None
            ctx.set_parameter_source(str(self.name), ParameterSource.ENVIRONMENT)  # for an error
            return not self.type(opposite, self, ctx)
        return value

    def _read_secret(self) -> str | None:
        try:
            return read_secret(_variable(self.opts), os.environ) or None
        except UnusableCredentials as error:
            raise click.ClickException(printable(str(error))) from None


def option_variables(command: click.Command) -> Iterator[str]:
    """Yield the variables of the options of the command and of its subcommands."""
    for parameter in command.params:
        if isinstance(parameter, EnvironmentOption):
            yield _variable(parameter.opts)
            if parameter.is_secret:
                yield f"{_variable(parameter.opts)}{FILE_SUFFIX}"
            if parameter.secondary_opts:
                yield _variable(parameter.secondary_opts)
    if isinstance(command, click.Group):
        for each in command.commands.values():
            yield from option_variables(each)


def _variable(names: Sequence[str]) -> str:
    return variable_of(max(names, key=len).lstrip("-"))


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


class _Boolean(BoolParamType):
    """The value of a flag's variable."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> bool:
        """Return the value. Another text than `true`, `false` and click's aliases is an error."""
        converted = self.str_to_bool(value)
        if converted is None:
            self.fail("use `true` or `false`.", param, ctx)
        return converted


class _SettingValue(click.ParamType[Any]):
    """The value of a setting."""

    def __init__(self, setting: Attribute[Any]) -> None:
        self.name: str = setting.metadata.get("metavar") or f"[{'|'.join(get_args(setting.type))}]"
        self._setting = setting

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return the value. An invalid text is a usage error."""
        if not isinstance(value, str):
            return value
        try:
            return parse_setting(self._setting, value)
        except ValueError as error:
            self.fail(str(error), param, ctx)


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


class OneOf(click.Choice[str]):
    """A member of an enumeration, by its value."""

    def __init__(self, kind: type[Enum]) -> None:
        super().__init__([member.value for member in kind])
        self._kind = kind

    def convert(  # type: ignore[override]
        self, value: str | Enum, param: click.Parameter | None, ctx: click.Context | None
    ) -> Enum:
        """Return the member. Another text is a usage error."""
        if isinstance(value, Enum):
            return value
        try:
            return self._kind(super().convert(value, param, ctx))
        except click.BadParameter as error:
            similar = closest_match(value, self.choices)
            if similar is None:
                raise
            self.fail(f"{error.message} Did you mean {similar}?", param, ctx)


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


def option(*names: str, **attributes: Any) -> Option:
    """Return a click option that an environment variable can also set."""
    return click.option(*names, cls=EnvironmentOption, **attributes)


def setting_option(name: str, **attributes: Any) -> EnvironmentOption:
    """Return the option of a setting. Without a default, its value is None if it is omitted."""
    setting = fields_dict(Settings)[name]
    if setting.type is bool:
        attributes["is_flag"] = True
    else:
        attributes["type"] = _SettingValue(setting)
        attributes["metavar"] = attributes["type"].name
        if setting.default:
            attributes |= {"default": str(setting.default), "show_default": True}
    return EnvironmentOption(
        [f"--{name.replace('_', '-')}"],
        help=setting.metadata["help"],
        is_secret=setting.metadata.get("secret", False),
        **attributes,
    )


console_url_option: Option = option(
    "--console-url",
    type=_SettingValue(fields_dict(Settings)["console_url"]),
    default="http://127.0.0.1:8080",
    show_default=True,
    help="The public address of the console, for the link.",
)

esp_option: Option = option(
    "--esp",
    type=OneOf(Esp),
    required=True,
    metavar="ESP",
    help="The email service provider: an id from `esp list`.",
)


def data_type_option(**settings: Any) -> Option:
    """Return the option for the type of a field's values."""
    return option(
        "--data-type", type=OneOf(DataType), help="The type of the field's values.", **settings
    )


json_option: Option = option(
    "--json", "as_json", is_flag=True, help="Print one JSON document on standard output."
)


@contextmanager
def open_for_command(storage: str, **settings: Any) -> Iterator[Core]:
    """Open the storage for one command. `settings` are those of `open_core`."""
    core = open_core(storage, **settings)
    try:
        yield core
    finally:
        core.storage.close()


def open_existing(storage: str, **settings: Any) -> AbstractContextManager[Core]:
    """Open the storage for one command that does not create a missing SQLite file."""
    return open_for_command(existing_storage(storage), **settings)
