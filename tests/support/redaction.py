"""Search of logs for API keys, which they must not contain."""

from __future__ import annotations

import logging
import re

API_KEY = re.compile(r"rfk_[0-9A-Za-z]{5}")
"""Matches the beginning of an API key that is longer than the prefix that logs may contain."""
REDACTED = "[API key]"
"""The text with which the service replaces an API key in its log."""


def log_lines_with_keys(stderr: str) -> list[str]:
    """Return the log lines on standard error that contain a key, redacted or not.

    Only JSON lines are log lines. Other lines are for the person at the terminal, and the
    demonstration prints its key there.
    """
    return [
        line
        for line in stderr.splitlines()
        if line.startswith("{") and (API_KEY.search(line) or REDACTED in line)
    ]


class KeyDetector(logging.Handler):
    """Collects the records of this process that contain a key, before any redaction."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []
        self._formatter = logging.Formatter("%(name)s: %(message)s")

    def emit(self, record: logging.LogRecord) -> None:
        text = f"{self._formatter.format(record)} {getattr(record, 'facts', '')}"
        if API_KEY.search(text):
            self.found.append(text)
