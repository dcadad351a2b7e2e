"""Checks of insertion codes that users write, which report warnings."""

from __future__ import annotations

import re
from enum import Enum

from ..arguments import require_type
from ..fields.origins import Source
from ..fields.protocol import Field
from .profiles import BUILT_IN, Profiles
from .recognition.tags import find_unmatched, recognize

__all__ = ["CodeWarning", "field_warnings"]


class CodeWarning(Enum):
    """The warnings about an insertion code. The values are messages."""

    EXPRESSION_MISSING = "The insertion code does not contain the value expression."
    UNBALANCED_DELIMITERS = (
        "The insertion code has an opening or closing delimiter without a match."
    )


def field_warnings(field: Field, profiles: Profiles = BUILT_IN) -> tuple[CodeWarning, ...]:
    """Return the warnings for an API or manual field. Synced fields have none."""
    if not hasattr(field, "origin"):  # A protocol takes 10 µs, and lists call this for each field.
        require_type(Field, field=field)
    if field.origin.source is Source.INTEGRATION:
        return ()
    return code_warnings(field.custom_insertion_code, field.custom_value_expression, profiles)


def code_warnings(
    insertion_code: str | None,
    value_expression: str | None,
    profiles: Profiles = BUILT_IN,
) -> tuple[CodeWarning, ...]:
    """Return the warnings for an insertion code and a value expression.

    Without an insertion code there are none.
    """
    require_type(str | None, insertion_code=insertion_code, value_expression=value_expression)
    require_type(Profiles, profiles=profiles)
    if insertion_code is None:
        return ()
    warnings = []
    if value_expression is not None and not _contains(insertion_code, value_expression):
        warnings.append(CodeWarning.EXPRESSION_MISSING)
    if not _balanced(insertion_code, profiles):
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


_INCOMPLETE_TAG = re.compile(r"(?<!%)%(?=[A-Z/])|(?<=[A-Z_])%(?!%)")


def _balanced(code: str, profiles: Profiles) -> bool:
    """Return whether each delimiter is a part of a tag. Beside other tags, a % is text."""
    if find_unmatched(code, profiles) is not None:
        return False
    tags = list(recognize(code, profiles=profiles))
    if any(not tag.text.startswith("%") or tag.text.startswith("%%") for tag in tags):
        return True
    ends, starts = (0, *(tag.end for tag in tags)), (*(tag.start for tag in tags), len(code))
    texts = (code[end:start] for end, start in zip(ends, starts, strict=True))
    return not any(_INCOMPLETE_TAG.search(text) for text in texts)
