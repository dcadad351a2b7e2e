"""Confirmation of actions that can't be undone."""

from __future__ import annotations

import sys

import click

from .options import Option, option
from .output import note, printable

yes_option: Option = option("--yes", is_flag=True, help="Act without asking for confirmation.")


def confirm(question: str, *listed: str) -> None:
    """Abort the command unless the person at the terminal says yes to the question.

    The lines of `listed` are shown before the question.
    """
    if sys.stdin is None or not sys.stdin.isatty():  # None if it was closed
        raise click.ClickException(
            "This can't be undone and was not confirmed: standard input is not a terminal."
            " Nothing was changed. To confirm without a question, add --yes."
        )
    for line in listed:
        note(line)
    click.confirm(printable(question), abort=True, err=True)
