"""Content in the languages of ESPs."""

from .export import ExportedContent, export_content
from .options import ExportOptions
from .report import UnfoundName, UnnamedField

__all__ = ["ExportOptions", "ExportedContent", "UnfoundName", "UnnamedField", "export_content"]
