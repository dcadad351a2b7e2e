"""The command `recipient-fields`, also as `python -m recipient_fields.entrypoints`.

pip installs the command even without the extra `cli`.
"""

from __future__ import annotations

import sys

from recipient_fields.application import MissingExtra


def main() -> None:
    """Run the command line. If an extra is missing, print one line and exit with code 1."""
    try:
        from .cli import main as command_line
    except MissingExtra as error:
        sys.exit(f"Error: {error}")
    command_line()


if __name__ == "__main__":
    main()
