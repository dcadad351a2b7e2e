"""Conditions on the values of recipients: their tree, syntax, checks and meaning."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .checks import *
    from .english import *
    from .errors import *
    from .evaluation import *
    from .literals import *
    from .syntax import *
    from .tree import *
else:
    from ..lazy_names import lazy_names

    __getattr__, __dir__ = lazy_names(
        __name__,
        "errors",
        "tree",
        "literals",
        "syntax",
        "checks",
        "evaluation",
        "english",
    )
