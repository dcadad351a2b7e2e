"""The command `recipient-fields`, which is installed even where its extra is not."""

from __future__ import annotations

import sys

from recipient_fields.application import MissingExtra


def main() -> None:
    """Run the command line; one clear line and exit code 1 where an extra is missing."""
    try:
        from .cli import main as command_line
    except MissingExtra as error:
        sys.exit(f"Error: {error}")
    command_line()
