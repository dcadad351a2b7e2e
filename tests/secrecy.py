"""What no log may show."""

from __future__ import annotations

import logging
import re

MORE_THAN_MAY_BE_SHOWN = re.compile(r"rfk_[0-9A-Za-z]{5}")
TAKEN_OUT = "[API key]"
"""Stands in the log for a key that should not have come so far."""


def keys_in_log(told: str) -> list[str]:
    """The lines of a log, among whatever else was written to standard error, that show a key.

    What is no line of JSON is no log: it is for the person at the terminal, to whom a
    demonstration shows its key.
    """
    return [
        line
        for line in told.splitlines()
        if line.startswith("{") and (MORE_THAN_MAY_BE_SHOWN.search(line) or TAKEN_OUT in line)
    ]


class Watch(logging.Handler):
    """Reads every record of this process, before anything can be taken out of it."""

    def __init__(self) -> None:
        super().__init__()
        self.shown: list[str] = []
        self._formatter = logging.Formatter("%(name)s: %(message)s")

    def emit(self, record: logging.LogRecord) -> None:
        told = f"{self._formatter.format(record)} {getattr(record, 'facts', '')}"
        if MORE_THAN_MAY_BE_SHOWN.search(told):
            self.shown.append(told)
