"""Content with references to fields and conditions, written once for all ESPs."""

from . import errors, filters, preview, surfaces, syntax, system_values, tree, warning_codes
from .errors import *
from .filters import *
from .preview import *
from .surfaces import *
from .syntax import *
from .system_values import *
from .tree import *
from .warning_codes import *

__all__ = [
    *errors.__all__,
    *filters.__all__,
    *preview.__all__,
    *surfaces.__all__,
    *syntax.__all__,
    *system_values.__all__,
    *tree.__all__,
    *warning_codes.__all__,
]
