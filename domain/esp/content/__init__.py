"""Content in the languages of ESPs."""

from .export import MAX_EXPORTED_LENGTH, ExportedContent, export_content

__all__ = ["MAX_EXPORTED_LENGTH", "ExportedContent", "export_content"]
