"""How the process returns memory to the operating system."""

from __future__ import annotations

from ctypes import CDLL
from typing import Final

_M_MMAP_THRESHOLD: Final = -3
_LARGE: Final = 1024 * 1024


def return_large_blocks() -> None:
    """Return blocks of more than 1 MiB to the operating system as soon as they are free.

    The C library of GNU raises this limit to 32 MiB as it frees such blocks. A large response that
    its client does not read would then keep the memory of what it was rendered from. The function
    has no effect with other C libraries.
    """
    mallopt = getattr(CDLL(None), "mallopt", None)
    if mallopt is not None:
        mallopt(_M_MMAP_THRESHOLD, _LARGE)
