"""The surfaces of content: where an email shows it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..choices import Choice

if TYPE_CHECKING:
    from .tree import Content

__all__ = ["Surface"]


class Surface(Choice):
    """Where an email shows content: in HTML, in plain text, or as the subject."""

    HTML = "html"
    TEXT = "text"
    SUBJECT = "subject"


def find_surface(content: Content, surface: Surface | str | None = None) -> Surface:
    """Return the surface, also of its text such as "html".

    Without one, content with an HTML tag, also in a default, is `HTML`, and other content `TEXT`.
    Raises: ValueError if there is no such surface; TypeError if the content is not parsed.
    """
    # Imported here because the names at ESPs need surfaces, and no content.
    from .html import Html
    from .tree import require_content

    require_content(content)
    if surface is not None:
        return Surface(surface)
    defaults = (each.default for each in content.references() if each.default is not None)
    has_tags = content.html.has_tags or any(Html(text).has_tags for text in defaults)
    return Surface.HTML if has_tags else Surface.TEXT
