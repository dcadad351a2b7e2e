"""Recognition of template code: which dialects a tag is in, what it shows, and its names."""

from .recognizing import RecognizedTag, recognize, recognize_dialects
from .roles import Role

__all__ = ["RecognizedTag", "Role", "recognize", "recognize_dialects"]
