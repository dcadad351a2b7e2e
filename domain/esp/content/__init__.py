"""Content in the languages of ESPs."""

from .check import CheckedContent, check_content
from .export import ContentExporter, ExportedContent, export_content
from .options import MAX_LITERAL_LENGTH, MAX_LITERALS, ExportOptions
from .report import RejectedWarning, UnfoundName, UnnamedField

__all__ = [
    "MAX_LITERALS",
    "MAX_LITERAL_LENGTH",
    "CheckedContent",
    "ContentExporter",
    "ExportOptions",
    "ExportedContent",
    "RejectedWarning",
    "UnfoundName",
    "UnnamedField",
    "check_content",
    "export_content",
]
