"""Content with references to fields and conditions, written once for all ESPs."""

from .checks import check_content
from .errors import MAX_VIOLATIONS, MAX_WARNINGS, ContentWarning, InvalidContent
from .preview import MAX_PREVIEW_LENGTH, preview_content
from .syntax import MAX_BLOCK_DEPTH, MAX_CONDITIONS, parse_content
from .tree import Block, Branch, Content, Lines, Node, Reference, Text

__all__ = [
    "MAX_BLOCK_DEPTH",
    "MAX_CONDITIONS",
    "MAX_PREVIEW_LENGTH",
    "MAX_VIOLATIONS",
    "MAX_WARNINGS",
    "Block",
    "Branch",
    "Content",
    "ContentWarning",
    "InvalidContent",
    "Lines",
    "Node",
    "Reference",
    "Text",
    "check_content",
    "parse_content",
    "preview_content",
]
