"""The options of the commands that read files of recipients."""

from __future__ import annotations

import codecs

import click

from .options import F, option

_DELIMITER_NAMES = {"tab": "\t"}


class _Delimiter(click.ParamType[str]):
    """The character between the cells of a CSV file."""

    name = "character"

    def convert(self, value: str, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """Return the character. Another text is a usage error."""
        delimiter = _DELIMITER_NAMES.get(value, value)
        if len(delimiter) != 1 or delimiter in '"\r\n':
            self.fail("use one character, or tab.", param, ctx)
        return delimiter


class _Encoding(click.ParamType[str]):
    """The name of a text encoding."""

    name = "encoding"

    def convert(self, value: str, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """Return the name. An unknown encoding is a usage error."""
        try:
            codecs.lookup(value)
        except (LookupError, ValueError):
            self.fail("use an encoding such as utf-8, utf-16 or cp1252.", param, ctx)
        return value


_delimiter_option = option(
    "--delimiter",
    type=_Delimiter(),
    metavar="CHARACTER|tab",
    help="The character between the cells of a CSV file. By default, it is detected.",
)
_encoding_option = option(
    "--encoding", type=_Encoding(), help="The text encoding. By default, it is detected."
)
_decimal_option = option(
    "--decimal",
    type=click.Choice([".", ","]),
    default=".",
    show_default=True,
    help="The decimal mark of the numbers in a CSV file.",
)


def file_options(command: F) -> F:
    """Add the options `--delimiter`, `--encoding` and `--decimal`."""
    return _delimiter_option(_encoding_option(_decimal_option(command)))
