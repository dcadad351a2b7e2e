"""The base URL of a service, to which API keys are sent."""

from __future__ import annotations

import re

from urllib3.exceptions import LocationParseError
from urllib3.util import Url, parse_url

from ..deadline_http import is_secure

_PATH = re.compile(r"(/[A-Za-z0-9._~-]+)*/?")


def parse_base_url(text: str, *, plaintext: bool) -> Url:
    """Return the base URL. `plaintext` permits http to other hosts.

    Raises: ValueError, without the URL, if it can't be used.
    """
    try:
        url = parse_url(text)
    except LocationParseError:
        raise ValueError(_BASE_URL) from None
    if (
        url.scheme not in {"http", "https"}
        or not url.host
        or _PATH.fullmatch(url.path or "") is None
    ):
        raise ValueError(_BASE_URL)
    if url.auth or url.query is not None or url.fragment is not None:
        raise ValueError(_BASE_URL)
    if not (is_secure(url) or plaintext):
        message = "API keys would be sent in plain text. Use https."
        raise ValueError(message)
    return url


_BASE_URL = (
    "Invalid URL of the service: use one like https://fields.example.com or"
    " https://example.com/fields."
)
