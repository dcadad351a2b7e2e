"""The warnings about the codes of fields: what users write, and names that are not certain."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from enum import Enum

from attrs import frozen

from ..arguments import require_type
from ..content import WarningCode
from ..fields.origins import Source
from ..fields.protocol import Field
from .errors import NameProposal
from .field_codes import FieldCode
from .names import NameState
from .profiles import BUILT_IN, Profiles
from .recognition.tags import find_text_tags, find_unmatched

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
    tags = [tag for tag in find_text_tags(code, profiles) if tag.readings]
    if any(not tag.text.startswith("%") or tag.text.startswith("%%") for tag in tags):
        return True
    ends, starts = (0, *(tag.end for tag in tags)), (*(tag.start for tag in tags), len(code))
    texts = (code[end:start] for end, start in zip(ends, starts, strict=True))
    return not any(_INCOMPLETE_TAG.search(text) for text in texts)


# Names

_MAX_NAMES = 10
"""Names in one message."""


@frozen
class NameWarning:
    """A warning about the ESP names of the fields that these keys mean, and a name to set."""

    code: WarningCode
    message: str
    keys: tuple[str, ...]
    proposal: NameProposal | None = None


def name_warnings(codes: Mapping[str, FieldCode]) -> Iterator[NameWarning]:
    """Yield the warnings about the codes, by the keys that mean their fields at one target.

    Each missing or ambiguous name, each similar name and each other data type has a warning. All
    other unknown names have one in common.
    """
    unknown: dict[str, FieldCode] = {}
    for key, code in codes.items():
        if code.esp_name is None or code.refusal is not None:
            continue
        match code.esp_name.state:
            case NameState.MISSING:
                yield NameWarning(WarningCode.MISSING_NAME, _missing(code), (key,), code.proposal)
            case NameState.AMBIGUOUS:
                yield NameWarning(WarningCode.AMBIGUOUS_NAME, _ambiguous(code), (key,))
            case NameState.UNKNOWN if code.similar_names:
                message = f"{code.describe()} {_offer(code)}"
                yield NameWarning(WarningCode.UNKNOWN_NAME, message, (key,), code.proposal)
            case NameState.UNKNOWN:
                unknown[key] = code
        if code.data_type is not code.field.data_type:
            yield NameWarning(WarningCode.OTHER_DATA_TYPE, _other_type(code), (key,))
    if unknown:
        first = next(iter(unknown.values()))
        is_assumed = first.integration_id is None
        yield NameWarning(
            WarningCode.ASSUMED_NAME if is_assumed else WarningCode.UNKNOWN_NAME,
            _unknown(list(unknown.values()), is_assumed=is_assumed),
            tuple(unknown),
        )


def _missing(code: FieldCode) -> str:
    if code.similar_names:
        return (
            f"{code.describe()} {_offer(code)} Otherwise, create this field there, and sync the"
            " integration."
        )
    return (
        f"{code.describe()} Create this field there, or set the name of another one."
        " Then sync the integration."
    )


def _offer(code: FieldCode) -> str:
    """Return a sentence about the similar names, or about the only one."""
    found = "one of these is" if len(code.similar_names) > 1 else f"{code.similar_names[0]} is"
    return f"If {found} this field, set its name at integration {code.integration_id}."


def _ambiguous(code: FieldCode) -> str:
    if code.field.origin.integration_id == code.integration_id:
        return f"{code.describe()} Write the key of the field that you mean."
    return (
        f"{code.describe()} Set the name of the one that you mean at integration"
        f" {code.integration_id}."
    )


def _other_type(code: FieldCode) -> str:
    return (
        f"{code.describe()} It is a {code.data_type.value} field there, and a"
        f" {code.field.data_type.value} field here. Test the email."
    )


def _unknown(codes: Sequence[FieldCode], *, is_assumed: bool) -> str:
    title = codes[0].profile.title
    names = ", ".join(_with_name(code) for code in codes[:_MAX_NAMES])
    more = f" and {len(codes) - _MAX_NAMES:,} more" if len(codes) > _MAX_NAMES else ""
    if is_assumed:
        reason = f"The organization has no integration with {title}, so these names are assumed"
    else:
        reason = f"No sync has found these names at {title} yet"
    return f"{reason}: {names}{more}. Compare them with the account."


def _with_name(code: FieldCode) -> str:
    name = "" if code.esp_name is None else code.esp_name.name
    return str(code.field.key) if name == code.field.key else f"{code.field.key} ({name})"
