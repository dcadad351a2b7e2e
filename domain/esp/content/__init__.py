"""Content in the languages of ESPs."""

from .export import ExportedContent, export_content
from .options import ExportOptions
from .report import UnnamedField

__all__ = ["ExportOptions", "ExportedContent", "UnnamedField", "export_content"]
