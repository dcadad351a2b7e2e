"""The clock of the use cases."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import TypeAlias

__all__ = ["Clock"]

Clock: TypeAlias = Callable[[], datetime]
"""Return the current time: aware, in UTC, in whole milliseconds."""
