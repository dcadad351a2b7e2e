"""Recognition of template code: which dialects a tag is in, what it shows, and its names."""

from .recognizing import RecognizedTag, recognize, recognize_dialects
from .roles import TagRole

__all__ = ["RecognizedTag", "TagRole", "recognize", "recognize_dialects"]
