"""The command line `recipient-fields`."""

from .main import main

__all__ = ["main"]
