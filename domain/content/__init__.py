"""Content with references to fields and conditions, written once for all ESPs."""

from . import checks, errors, preview, syntax, tree
from .checks import *
from .errors import *
from .preview import *
from .syntax import *
from .tree import *

__all__ = [
    *checks.__all__,
    *errors.__all__,
    *preview.__all__,
    *syntax.__all__,
    *tree.__all__,
]
