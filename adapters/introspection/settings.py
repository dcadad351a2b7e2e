"""A validator from one line of settings."""

from __future__ import annotations

import re
from urllib.parse import parse_qsl

from recipient_fields.application import Clock, system_clock

from .issuer import USUAL_TIMEOUT, Issuer
from .rules import TokenRules
from .validator import USUAL_CACHE_TOKENS, IntrospectionKeyValidator

_DECIMAL = re.compile(r"[0-9]{1,6}(\.[0-9]{1,3})?")
_RULES = {
    *("organization_claim", "access_claim", "read_scope", "write_scope", "key_id_claim"),
    *("audience", "issuer"),
}
_NUMBERS = {"timeout", "cache_seconds", "cache_tokens"}


def introspection_at(
    url: str, authorization: str, *, clock: Clock = system_clock
) -> IntrospectionKeyValidator:
    """The validator that asks at that URL, whose query is not the issuer's but settings of ours.

    `authorization` proves who asks: see `basic` and `bearer`. ValueError, with a sentence that
    repeats no value, where a setting is unknown or can't be used.
    """
    endpoint, _, query = url.partition("?")
    given = _given(query)
    numbers = {name: _number(name, text) for name, text in given.items() if name in _NUMBERS}
    return IntrospectionKeyValidator(
        Issuer(
            url=endpoint,
            authorization=authorization,
            timeout=numbers.get("timeout", USUAL_TIMEOUT),
        ),
        TokenRules(**{name: text for name, text in given.items() if name in _RULES}),
        clock=clock,
        cache_seconds=numbers.get("cache_seconds", 0),
        cache_tokens=_whole("cache_tokens", numbers.get("cache_tokens", USUAL_CACHE_TOKENS)),
    )


def _given(query: str) -> dict[str, str]:
    try:
        pairs = parse_qsl(query, keep_blank_values=True, strict_parsing=True) if query else []
    except ValueError:
        raise ValueError("Settings follow the URL like this: ?audience=fields&timeout=1") from None
    given = dict(pairs)
    if not given.keys() <= _RULES | _NUMBERS:
        known = ", ".join(sorted(_RULES | _NUMBERS))
        raise ValueError(f"The URL has an unknown setting. There are {known}.")
    if len(given) < len(pairs) or not all(value.isprintable() for value in given.values()):
        raise ValueError("A setting of the URL is given twice, or holds control characters.")
    for name, value in given.items():
        if not value.strip():
            raise ValueError(f"The setting {name} is empty.")
    return given


def _number(name: str, text: str) -> float:
    if _DECIMAL.fullmatch(text) is None:
        raise ValueError(f"The setting {name} is a number.")
    return float(text)


def _whole(name: str, number: float) -> int:
    if not float(number).is_integer():
        raise ValueError(f"The setting {name} is a whole number.")
    return int(number)
