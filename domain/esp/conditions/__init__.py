"""Conditions in the languages of ESPs."""

from .compilation import (
    ConditionCode,
    ConditionWarning,
    check_condition_for,
    compile_condition,
)

__all__ = ["ConditionCode", "ConditionWarning", "check_condition_for", "compile_condition"]
