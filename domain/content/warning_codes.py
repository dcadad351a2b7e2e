"""What a warning is about, and which warnings a strict use case rejects."""

from __future__ import annotations

from typing import Final, Literal, TypeAlias

from ..choices import KeyEnum

__all__ = ["DEFAULT_STRICT", "Strict", "WarningCode", "WarningKind"]

Strict: TypeAlias = bool | Literal["mistakes"]
"""Which warnings are rejected: the mistakes, all (true), or none (false)."""

DEFAULT_STRICT: Final[Strict] = "mistakes"
"""What exports, checks and compilations of conditions reject by default, for each caller."""


def require_strict(strict: object) -> None:
    """Require a value that `Strict` permits. Raises: TypeError if it is another one."""
    if not isinstance(strict, bool) and strict != "mistakes":
        raise TypeError(f'strict must be True, False or "mistakes", not {strict!r}.')


class WarningKind(KeyEnum):
    """The kinds of warnings.

    A mistake is certainly wrong in the content. A caveat depends on the ESP or its account.
    """

    MISTAKE = "mistake"
    CAVEAT = "caveat"

    def is_rejected(self, strict: Strict) -> bool:
        """Return whether warnings of this kind are rejected."""
        return self is WarningKind.MISTAKE if strict == "mistakes" else bool(strict)


class WarningCode(KeyEnum):
    """The codes of warnings about content and conditions. `docs/errors.md` describes them."""

    REFERENCE_LOOKALIKE = "reference_lookalike"
    CONDITION_LOOKALIKE = "condition_lookalike"
    UNLESS_LOOKALIKE = "unless_lookalike"
    LOOP_LOOKALIKE = "loop_lookalike"
    CONDITION_MISSING = "condition_missing"
    OUTER_BRACES = "outer_braces"

    FOREIGN_CODE = "foreign_code"
    POSSIBLY_FOREIGN_CODE = "possibly_foreign_code"
    UNREADABLE_CODE = "unreadable_code"
    UNKNOWN_WORD = "unknown_word"
    FOREIGN_INSERTION_CODE = "foreign_insertion_code"
    EXPRESSION_OUTSIDE_TAG = "expression_outside_tag"
    QUOTES_IN_CODE = "quotes_in_code"
    DEFAULT_OF_EMPTY_TEXT = "default_of_empty_text"
    SHOWN_FORM = "shown_form"
    HTML_IN_VALUES = "html_in_values"
    MISSING_VALUE_STOPS = "missing_value_stops"
    BLOCK_IN_TABLE = "block_in_table"
    LOST_IN_MJML = "lost_in_mjml"
    VERBATIM_CODE = "verbatim_code"
    UNESTABLISHED_CHARACTER = "unestablished_character"
    FILTER_DIFFERENCE = "filter_difference"
    UNENCODED_VALUE = "unencoded_value"

    EVENT_DATA = "event_data"
    CHANGED_EXPORT = "changed_export"

    MISSING_NAME = "missing_name"
    AMBIGUOUS_NAME = "ambiguous_name"
    UNKNOWN_NAME = "unknown_name"
    ASSUMED_NAME = "assumed_name"
    OTHER_DATA_TYPE = "other_data_type"

    SYSTEM_VALUE_DIFFERS = "system_value_differs"
    UNSUBSCRIBE_LINK_MISSING = "unsubscribe_link_missing"

    SECONDARY_SOURCES = "secondary_sources"
    CASE_INSENSITIVE = "case_insensitive"
    UNKNOWN_CASE_AND_SPACES = "unknown_case_and_spaces"
    UNKNOWN_COMPARISON = "unknown_comparison"
    UNKNOWN_NUMBER_FORM = "unknown_number_form"
    UNKNOWN_OPTION_FORM = "unknown_option_form"
    NUMERIC_TEXT = "numeric_text"
    NUMBER_AS_TEXT = "number_as_text"
    BOOLEAN_AS_TEXT = "boolean_as_text"
    NO_BOOLEAN_FIELDS = "no_boolean_fields"
    UNKNOWN_ZERO = "unknown_zero"
    EMPTY_TEXT_IS_FALSE = "empty_text_is_false"
    WHOLE_SECONDS = "whole_seconds"
    VARIABLE_NOT_SET = "variable_not_set"
    PROGRAMMABLE_EMAIL = "programmable_email"
    NESTED_CONDITIONS = "nested_conditions"

    @property
    def kind(self) -> WarningKind:
        """The kind of the warnings with this code."""
        return WarningKind.MISTAKE if self in _MISTAKES else WarningKind.CAVEAT


_MISTAKES = {
    WarningCode.REFERENCE_LOOKALIKE,
    WarningCode.CONDITION_LOOKALIKE,
    WarningCode.UNLESS_LOOKALIKE,
    WarningCode.LOOP_LOOKALIKE,
    WarningCode.CONDITION_MISSING,
    WarningCode.OUTER_BRACES,
    WarningCode.FOREIGN_CODE,
    WarningCode.UNREADABLE_CODE,
    WarningCode.MISSING_NAME,
    WarningCode.LOST_IN_MJML,
}
