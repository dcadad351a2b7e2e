"""Conditions in the languages of ESPs."""

from .compilation import ConditionCode, ConditionWarning, compile_condition

__all__ = ["ConditionCode", "ConditionWarning", "compile_condition"]
