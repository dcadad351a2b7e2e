"""Conditions in the languages of ESPs."""

from .compilation import ConditionCode, compile_condition

__all__ = ["ConditionCode", "compile_condition"]
