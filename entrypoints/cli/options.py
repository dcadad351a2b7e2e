"""Options that environment variables can also set, where a value is from, and confirmations."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any, Protocol, TypeVar, cast, get_args

import click
from attrs import Attribute, fields_dict
from click.core import ParameterSource
from click.types import BoolParamType

from recipient_fields.application.environment import FILE_SUFFIX, UnusableCredentials, read_secret
from recipient_fields.domain import InvalidInput

from ..service.settings import Settings, parse_setting, variable_of
from .output import choose_json, note, printable

F = TypeVar("F", bound=Callable[..., object])
T = TypeVar("T")


class Option(Protocol):
    """A decorator that adds options to a command."""

    def __call__(self, command: F, /) -> F:
        """Return the command with the options."""


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
    """Yield the variables of the options of the command."""
    for parameter in command.params:
        if isinstance(parameter, EnvironmentOption):
            yield _variable(parameter.opts)
            if parameter.is_secret:
                yield f"{_variable(parameter.opts)}{FILE_SUFFIX}"
            if parameter.secondary_opts:
                yield _variable(parameter.secondary_opts)


def _variable(names: Sequence[str]) -> str:
    return variable_of(max(names, key=len).lstrip("-"))


class _Boolean(BoolParamType):
    """The value of a flag's variable."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> bool:
        """Return the value. Another text than `true`, `false` and click's aliases is an error."""
        converted = self.str_to_bool(value)
        if converted is None:
            self.fail("use `true` or `false`.", param, ctx)
        return converted


class Parsed(click.ParamType[T]):
    """Values that a function returns for texts. Its ValueError or InvalidInput is a usage error.

    A value that is no text, such as a default, stays as it is.
    """

    def __init__(self, name: str, parse: Callable[[str], T]) -> None:
        self.name: str = name
        self._parse = parse

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> T:
        """Return the value. An invalid text is a usage error."""
        if not isinstance(value, str):
            return cast("T", value)
        try:
            return self._parse(value)
        except (ValueError, InvalidInput) as error:
            self.fail(str(error), param, ctx)


def _setting_type(setting: Attribute[Any]) -> Parsed[Any]:
    name = setting.metadata["metavar"] or f"[{'|'.join(get_args(setting.type))}]"
    return Parsed(name, partial(parse_setting, setting))


def option(*names: str, **attributes: Any) -> Option:
    """Return a click option that an environment variable can also set."""
    return click.option(*names, cls=EnvironmentOption, **attributes)


def flag(*names: str, text: str) -> Option:
    """Return an option without a value."""
    return option(*names, is_flag=True, help=text)


def path_option(*names: str, text: str, exists: bool = False, **attributes: Any) -> Option:
    """Return an option for the path of a file."""
    return option(*names, type=click.Path(dir_okay=False, exists=exists), help=text, **attributes)


def repeatable(*names: str, text: str, **attributes: Any) -> Option:
    """Return an option that can be repeated, with the sentence in its help that says so."""
    return option(*names, multiple=True, help=f"{text} The option can be repeated.", **attributes)


def setting_option(name: str, **attributes: Any) -> EnvironmentOption:
    """Return the option of a setting. Without a default, its value is None if it is omitted."""
    setting = fields_dict(Settings)[name]
    if setting.type is bool:
        attributes["is_flag"] = True
    else:
        attributes["type"] = _setting_type(setting)
        attributes["metavar"] = attributes["type"].name
        if setting.default:
            attributes["default"] = str(setting.default)
    return EnvironmentOption(
        [f"--{name.replace('_', '-')}"],
        help=setting.metadata["help"],
        is_secret=setting.metadata["secret"],
        **attributes,
    )


console_url_option: Option = option(
    "--console-url",
    type=_setting_type(fields_dict(Settings)["console_url"]),
    default="http://127.0.0.1:8080",
    help="The public address of the console, for the link.",
)


def json_option_with(text: str) -> Option:
    """Return the option `--json` with this help."""
    return option("--json", is_flag=True, expose_value=False, callback=choose_json, help=text)


json_option: Option = json_option_with("Print one JSON document on standard output.")


def selects_service(ctx: click.Context) -> bool:
    """Return whether `--url` applies. The command line takes precedence over variables."""
    for source in (ParameterSource.COMMANDLINE, ParameterSource.ENVIRONMENT):
        has_url = _is_set(ctx, "url", source)
        others = [name for name in ("storage", "organization") if _is_set(ctx, name, source)]
        if has_url and others:
            raise click.UsageError(
                f"--url ({variable_of('url')}) can't be combined with --{others[0]}"
                f" ({variable_of(others[0])})."
            )
        if has_url or others:
            return has_url
    return False


def is_on_command_line(ctx: click.Context, name: str) -> bool:
    """Return whether the command line has the option, after the command or before it."""
    return _is_set(ctx, name, ParameterSource.COMMANDLINE)


def _is_set(ctx: click.Context | None, name: str, source: ParameterSource) -> bool:
    """Return whether the option of the command, or of a group before it, is from this source."""
    if ctx is None:
        return False
    return ctx.get_parameter_source(name) is source or _is_set(ctx.parent, name, source)


yes_option: Option = option("--yes", is_flag=True, help="Do not prompt for confirmation.")


def is_at_terminal() -> bool:
    """Return whether standard input is a terminal, at which a person can confirm an action."""
    return sys.stdin is not None and sys.stdin.isatty()  # None if it was closed


def confirm(question: str, *listed: str) -> None:
    """Print the lines of `listed` and the question, and end the command unless the answer is yes.

    Raises: click.ClickException if standard input is not a terminal.
    """
    if not is_at_terminal():
        raise click.ClickException(
            "Standard input is not a terminal to confirm this, so nothing was changed. To confirm,"
            " add --yes."
        )
    for line in listed:
        note(line)
    confirm_at_terminal(question)


def confirm_at_terminal(question: str, *, default: bool = False) -> None:
    """Print the question, and end the command with status 1 unless the answer is yes."""
    try:
        is_confirmed = click.confirm(printable(question), default=default, err=True)
    except click.Abort:
        is_confirmed = False
        note("")  # The line of the question has no end.
    if not is_confirmed:
        note("Nothing was changed.")
        click.get_current_context().exit(1)
