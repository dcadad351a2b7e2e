"""Content in the languages of ESPs."""

from .export import ExportedContent, UnnamedField, export_content

__all__ = ["ExportedContent", "UnnamedField", "export_content"]
