"""Recognition of template code: which dialects a tag is in, what it shows, and its names."""

from . import recognition, roles
from .recognition import *
from .roles import *

__all__ = [*recognition.__all__, *roles.__all__]
