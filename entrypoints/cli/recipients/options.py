"""The options of the commands that read files of recipients."""

from __future__ import annotations

import codecs
from collections.abc import Callable, Sequence
from functools import wraps
from typing import TypeVar, cast

import click

from recipient_fields.application.ports.recipients import FileFormat
from recipient_fields.domain import DecimalMark, InvalidInput, TextFormats

from ..options import Option, Parsed, option, repeatable
from ..typed_options import IDENTIFIER

T = TypeVar("T")

_DELIMITER_NAMES = {"tab": "\t"}


def _parse_delimiter(text: str) -> str:
    delimiter = _DELIMITER_NAMES.get(text, text)
    if len(delimiter) != 1 or delimiter in '"\r\n':
        raise ValueError("use one character, or tab.")
    return delimiter


def _parse_encoding(text: str) -> str:
    try:
        codecs.lookup(text)
    except (LookupError, ValueError):
        raise ValueError("use an encoding such as utf-8, utf-16 or cp1252.") from None
    return text


integration_option: Option = option(
    "--integration",
    type=IDENTIFIER,
    help="The columns can have the names of the fields at this integration.",
)


def require_columns(file: str, integration: int | None) -> None:
    """Check that only a file with columns has their names. Raises: click.UsageError if not."""
    if integration is not None and FileFormat.of(file) is FileFormat.JSON_LINES:
        raise click.UsageError("--integration requires a file with columns.")


def file_options(command: Callable[..., T]) -> Callable[..., T]:
    """Add the options of the texts in a file: `delimiter`, `encoding` and `formats`."""

    @option(
        "--delimiter",
        type=Parsed("character", _parse_delimiter),
        metavar="CHARACTER|tab",
        help="The character between the cells of a CSV file. By default, it is detected.",
    )
    @option(
        "--encoding",
        type=Parsed("encoding", _parse_encoding),
        help="The text encoding. By default, it is detected.",
    )
    @option(
        "--decimal",
        type=click.Choice([".", ","]),
        default=".",
        help="The decimal mark of the numbers in a CSV file.",
    )
    @option(
        "--date-format",
        metavar="FORMAT",
        default="YYYY-MM-DD",
        help="The format of the dates in a CSV file, such as DD.MM.YYYY.",
    )
    @repeatable(
        "--true",
        metavar="WORD",
        default=("true",),
        text="A word for true in a CSV file, such as ja.",
    )
    @repeatable(
        "--false",
        metavar="WORD",
        default=("false",),
        text="A word for false in a CSV file, such as nein.",
    )
    @wraps(command)
    def with_formats(
        *args: object,
        decimal: str,
        date_format: str,
        true: Sequence[str],
        false: Sequence[str],
        **others: object,
    ) -> T:
        formats = _parse_formats(decimal, date_format, true, false)
        return command(*args, formats=formats, **others)

    return with_formats


def _parse_formats(
    decimal: str, date_format: str, true: Sequence[str], false: Sequence[str]
) -> TextFormats:
    try:
        return TextFormats(
            decimal_mark=cast("DecimalMark", decimal),
            date_format=date_format,
            true=tuple(true),
            false=tuple(false),
        )
    except InvalidInput as error:
        (violation,) = error.violations
        name = str(violation.path[0]).replace("_", "-")
        raise click.BadParameter(violation.message, param_hint=f"'--{name}'") from None
