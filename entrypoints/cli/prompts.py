"""Confirmation of actions that remove something."""

from __future__ import annotations

import sys

import click

from .options import Option, option
from .output import note, printable

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
