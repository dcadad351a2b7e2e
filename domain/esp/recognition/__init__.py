"""Recognition of template code: which dialects a tag is in, what it shows, and its names."""

from .tags import RecognizedTag, recognize, recognize_dialects
from .words import TagRole

__all__ = ["RecognizedTag", "TagRole", "recognize", "recognize_dialects"]
