"""Content with references to fields and conditions, written once for all ESPs."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .errors import *
    from .examples import *
    from .preview import *
    from .surfaces import *
    from .syntax import *
    from .system_values import *
    from .tree import *
    from .warning_codes import *
else:
    from ..lazy_names import lazy_names

    __getattr__, __dir__ = lazy_names(
        __name__,
        "warning_codes",
        "errors",
        "system_values",
        "tree",
        "surfaces",
        "syntax",
        "preview",
        "examples",
    )
