"""Checks of insertion codes that users write, which report warnings."""

from __future__ import annotations

import re
from enum import Enum

from ..arguments import require_type
from ..fields.origins import Source
from ..fields.protocol import Field

__all__ = ["CodeWarning", "code_warnings", "field_warnings"]


class CodeWarning(Enum):
    """The warnings about an insertion code. The values are messages."""

    EXPRESSION_MISSING = "The insertion code does not contain the value expression."
    UNBALANCED_DELIMITERS = (
        "The insertion code has an opening or closing delimiter without a match."
    )


def field_warnings(field: Field) -> tuple[CodeWarning, ...]:
    """Return the warnings for an API or manual field. Synced fields have none."""
    require_type(Field, field=field)
    if field.origin.source is Source.INTEGRATION:
        return ()
    return code_warnings(field.custom_insertion_code, field.custom_value_expression)


def code_warnings(
    insertion_code: str | None, value_expression: str | None
) -> tuple[CodeWarning, ...]:
    """Return the warnings for an insertion code and a value expression.

    Without an insertion code there are none.
    """
    require_type(str | None, insertion_code=insertion_code, value_expression=value_expression)
    if insertion_code is None:
        return ()
    warnings = []
    if value_expression is not None and not _contains(insertion_code, value_expression):
        warnings.append(CodeWarning.EXPRESSION_MISSING)
    if not _balanced(insertion_code):
        warnings.append(CodeWarning.UNBALANCED_DELIMITERS)
    return tuple(warnings)


def _contains(code: str, expression: str) -> bool:
    """Return whether the code contains the expression, and not only as part of a longer name."""
    expression = expression.strip()
    pattern = r"\s*\|\s*".join(re.escape(part.strip()) for part in expression.split("|"))
    pattern = rf"(?<!\w){pattern}" if re.match(r"\w", expression) else pattern
    pattern = rf"{pattern}(?!\w)" if re.search(r"\w\Z", expression) else pattern
    if re.fullmatch(r"\$[A-Z0-9_]+", expression):  # ActiveCampaign inserts $TAG as %TAG%
        pattern = f"{pattern}|%{expression[1:]}%"
    # Salesforce variables are case-insensitive.
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
"""The closing delimiter of each opening one. If several openings match, the first applies."""
_OUTSIDE = tuple(token for pair in _CLOSING.items() for token in pair if token not in {"${", "}"})
_INSIDE = {
    "%%[": ("%%[", "%%=", "]%%", "=%%"),
    "%%=": ("%%[", "%%=", "]%%", "=%%"),
    "*|": ("*|",),
}
_INSIDE_BRACES = ("{{{", "{{", "{%", "${", "%}")
"""The delimiters that are recognized inside a tag. Those of other dialects are text there."""

_ACTIVECAMPAIGN_TAG = re.compile(r"%(?:[A-Z0-9_]+|(?:ELSE)?IF [^%]*|/IF)%")
_INCOMPLETE_TAG = re.compile(r"(?<!%)%(?=[A-Z/])|(?<=[A-Z_])%(?!%)")


def _balanced(code: str) -> bool:
    open_tags: list[str] = []
    offset, has_delimiters = 0, False
    while offset < len(code):
        delimiter = _delimiter_at(code, offset, open_tags)
        if open_tags and delimiter == _CLOSING[open_tags[-1]]:
            open_tags.pop()
        elif delimiter in _CLOSING:
            open_tags.append(delimiter)
        elif delimiter:
            return False
        offset += len(delimiter) or 1
        has_delimiters = has_delimiters or bool(delimiter)
    if has_delimiters:
        return not open_tags
    return _INCOMPLETE_TAG.search(_ACTIVECAMPAIGN_TAG.sub("", code)) is None


def _delimiter_at(code: str, offset: int, open_tags: list[str]) -> str:
    """Return the delimiter at this offset, or an empty string.

    The closing delimiter of the innermost open tag has precedence.
    """
    delimiters = _OUTSIDE
    if open_tags:
        delimiters = (_CLOSING[open_tags[-1]], *_INSIDE.get(open_tags[-1], _INSIDE_BRACES))
    return next((each for each in delimiters if code.startswith(each, offset)), "")
