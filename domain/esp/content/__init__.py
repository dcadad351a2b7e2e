"""Content in the languages of ESPs."""

from .export import ExportedContent, export_content, exportable_fields

__all__ = ["ExportedContent", "export_content", "exportable_fields"]
