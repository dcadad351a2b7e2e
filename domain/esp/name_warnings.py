"""The warnings about ESP names in content and conditions."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from attrs import frozen

from ..content import WarningCode
from .errors import NameProposal
from .field_codes import FieldCode
from .names import NameState

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
