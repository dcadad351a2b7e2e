"""Content in the languages of ESPs."""

from .export import MAX_EXPORTED_LENGTH, ExportedContent, export_content, exportable_fields

__all__ = ["MAX_EXPORTED_LENGTH", "ExportedContent", "export_content", "exportable_fields"]
