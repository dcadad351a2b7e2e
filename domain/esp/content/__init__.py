"""Content in the languages of ESPs."""

from .check import CheckedContent, check_content
from .export import ExportedContent, export_content
from .options import ExportOptions
from .report import RejectedWarning, UnnamedField

__all__ = [
    "CheckedContent",
    "ExportOptions",
    "ExportedContent",
    "RejectedWarning",
    "UnnamedField",
    "check_content",
    "export_content",
]
