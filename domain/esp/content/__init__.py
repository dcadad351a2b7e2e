"""Content in the languages of ESPs."""

from .export import ExportedContent, export_content

__all__ = ["ExportedContent", "export_content"]
