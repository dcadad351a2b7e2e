"""Integrations with ESPs: the names of fields there, setting them, sync runs and restoration."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .changes import *
    from .codes import *
    from .connection import *
    from .conversion import *
    from .errors import *
    from .esp_names import *
    from .integration import *
    from .matching import *
    from .restoration import *
    from .selection import *
    from .sync import *
else:
    from ..lazy_names import lazy_names

    __getattr__, __dir__ = lazy_names(
        __name__,
        "errors",
        "integration",
        "connection",
        "esp_names",
        "selection",
        "changes",
        "sync",
        "restoration",
        "codes",
        "matching",
        "conversion",
    )
