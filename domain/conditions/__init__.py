"""Conditions on the values of recipients: their tree, syntax, checks and meaning."""

from . import checks, english, errors, evaluation, literals, syntax, tree
from .checks import *
from .english import *
from .errors import *
from .evaluation import *
from .literals import *
from .syntax import *
from .tree import *

__all__ = [
    *checks.__all__,
    *english.__all__,
    *errors.__all__,
    *evaluation.__all__,
    *literals.__all__,
    *syntax.__all__,
    *tree.__all__,
]
