"""Search of logs for secrets, which they must not contain."""

from __future__ import annotations

import logging
import re

SECRET = re.compile(
    r"rfk_[0-9A-Za-z]{5}"  # an API key that is longer than the prefix that logs may contain
    r"|(?<![\w-])(?=[a-z0-9_-]*[A-Z])(?=[A-Z0-9_-]*[a-z])[\w-]{43}(?![\w-])"  # a random token
    r"|(?<![0-9a-f])[0-9a-f]{64}(?![0-9a-f])",  # the token of the forms of a session
    re.ASCII,
)
"""Matches an API key, a token of an invitation, a link, a session or a form, and a CSRF token."""
REDACTED = "[API key]"
"""The text with which the service replaces an API key in its log."""


def log_lines_with_secrets(stderr: str) -> list[str]:
    """Return the log lines on standard error that contain a secret, redacted or not.

    Only JSON lines are log lines. Other lines are for the person at the terminal, and the
    demonstration prints its key there.
    """
    return [
        line
        for line in stderr.splitlines()
        if line.startswith("{") and (SECRET.search(line) or REDACTED in line)
    ]


class SecretDetector(logging.Handler):
    """Collects the records of this process that contain a secret, before any redaction."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []
        self._formatter = logging.Formatter("%(name)s: %(message)s")

    def emit(self, record: logging.LogRecord) -> None:
        text = f"{self._formatter.format(record)} {getattr(record, 'facts', '')}"
        if SECRET.search(text):
            self.found.append(text)
