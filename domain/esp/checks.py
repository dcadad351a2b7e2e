"""What is doubtful about an insertion code that somebody wrote by hand. It is never refused."""

from __future__ import annotations

import re
from enum import Enum

from ..fields import RecipientField
from ..origins import Source


class SnippetWarning(Enum):
    """What to look at again; the values are sentences."""

    EXPRESSION_MISSING = "The insertion code does not contain the value expression."
    UNBALANCED_DELIMITERS = "The insertion code has an opening without its closing, or the reverse."


def field_warnings(field: RecipientField) -> tuple[SnippetWarning, ...]:
    """What is doubtful about an API or manual field; what a sync derives is not doubted."""
    if field.origin.source is Source.INTEGRATION:
        return ()
    return snippet_warnings(field.custom_insertion_code, field.custom_value_expression)


def snippet_warnings(
    insertion_code: str | None, value_expression: str | None
) -> tuple[SnippetWarning, ...]:
    """What is doubtful about the two; a missing one is not."""
    if insertion_code is None:
        return ()
    warnings = []
    if value_expression is not None and not _contains(insertion_code, value_expression):
        warnings.append(SnippetWarning.EXPRESSION_MISSING)
    if not _balanced(insertion_code):
        warnings.append(SnippetWarning.UNBALANCED_DELIMITERS)
    return tuple(warnings)


def _contains(code: str, expression: str) -> bool:
    """Does the code hold the expression as a whole, not as a part of a longer name?"""
    expression = expression.strip()
    pattern = r"\s*\|\s*".join(re.escape(part.strip()) for part in expression.split("|"))
    pattern = rf"(?<!\w){pattern}" if re.match(r"\w", expression) else pattern
    pattern = rf"{pattern}(?!\w)" if re.search(r"\w\Z", expression) else pattern
    if re.fullmatch(r"\$[A-Z0-9_]+", expression):  # ActiveCampaign inserts $TAG as %TAG%
        pattern = f"{pattern}|%{expression[1:]}%"
    # Salesforce does not tell @tier from @Tier.
    return re.search(pattern, code, re.I if expression.startswith("@") else 0) is not None


_CLOSING = {
    "%%[": "]%%",
    "%%=": "=%%",
    "*|": "|*",
    "{{{": "}}}",
    "{{": "}}",
    "{%": "%}",
    "${": "}",
}
"""The closing of each opening. Where two openings fit, the first counts."""
_ANYWHERE = tuple(token for pair in _CLOSING.items() for token in pair if token not in {"${", "}"})
_INSIDE = {
    "%%[": ("%%[", "%%=", "]%%", "=%%"),
    "%%=": ("%%[", "%%=", "]%%", "=%%"),
    "*|": ("*|",),
}
_INSIDE_BRACES = ("{{{", "{{", "{%", "${", "%}")
"""The delimiters that count inside; another dialect's are text there."""

_ACTIVECAMPAIGN_TAG = re.compile(r"%(?:[A-Z0-9_]+|(?:ELSE)?IF [^%]*|/IF)%")
_HALF_A_TAG = re.compile(r"(?<!%)%(?=[A-Z/])|(?<=[A-Z_])%(?!%)")


def _balanced(code: str) -> bool:
    opened: list[str] = []
    at, tags = 0, 0
    while at < len(code):
        token = _token(code, at, opened)
        if opened and token == _CLOSING[opened[-1]]:
            opened.pop()
        elif token in _CLOSING:
            opened.append(token)
        elif token:
            return False
        at += len(token) or 1
        tags += bool(token)
    if tags:
        return not opened
    return _HALF_A_TAG.search(_ACTIVECAMPAIGN_TAG.sub("", code)) is None


def _token(code: str, at: int, opened: list[str]) -> str:
    """The delimiter that stands there, the awaited closing before any other; empty where none."""
    tokens = _ANYWHERE
    if opened:
        tokens = (_CLOSING[opened[-1]], *_INSIDE.get(opened[-1], _INSIDE_BRACES))
    return next((token for token in tokens if code.startswith(token, at)), "")
