"""Content with references to fields and conditions, written once for all ESPs."""

from . import checks, errors, filters, preview, syntax, tree, warning_codes
from .checks import *
from .errors import *
from .filters import *
from .preview import *
from .syntax import *
from .tree import *
from .warning_codes import *

__all__ = [
    *checks.__all__,
    *errors.__all__,
    *filters.__all__,
    *preview.__all__,
    *syntax.__all__,
    *tree.__all__,
    *warning_codes.__all__,
]
