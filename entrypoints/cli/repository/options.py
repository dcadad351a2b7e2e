"""The options of the commands that read files with content."""

from __future__ import annotations

import click

from recipient_fields.domain.esp import Esp

from ..options import F, Option, Parsed, option, path_option, repeatable
from ..typed_options import EspName

literal_option: Option = option(
    "--literal",
    "literals",
    multiple=True,
    help="A text that must stay as it is, such as code in a script: there are no warnings about it."
    " You can repeat this option.",
)

paths_argument: Option = click.argument("paths", metavar="[PATH]...", nargs=-1)

snapshot_option: Option = path_option(
    "--snapshot",
    text="Use the fields in this file, which `fields snapshot` has written, without a storage and"
    " without a network.",
)


include_option: Option = repeatable(
    "--include",
    metavar="PATTERN",
    text="Also read the files in folders that match this pattern, such as '*.liquid'.",
)


def _parse_native(text: str) -> tuple[str, Esp]:
    pattern, _, esp = text.rpartition("=")
    if not pattern:
        raise ValueError("use PATTERN=ESP, for example 'braze/**=braze'.")
    return pattern, EspName().convert(esp, None, None)


def file_options(command: F) -> F:
    """Add the options that say which files are read, and for which ESP they are written."""
    esp = option(
        "--esp", type=EspName(), help="The files contain code of this ESP: an id from `esp list`."
    )
    native = repeatable(
        "--native",
        type=Parsed("pattern=esp", _parse_native),
        text="The files that match the pattern contain code of this ESP, such as 'braze/**=braze'.",
    )
    return esp(native(include_option(command)))
