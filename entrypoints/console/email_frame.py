"""The document in the frame of the preview: an email that loads nothing and runs nothing.

The frame has a sandbox and a policy that permits styles only. Some requests need no permission of a
policy, such as those of links and `preconnect`, so the document contains only elements and
attributes that make none. Whatever the reader takes for a tag, it writes the tag itself, so a
browser that reads the text in another way sees no other elements.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from html import escape, unescape
from typing import Final, cast

EMAIL_POLICY: Final = (
    "sandbox; default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'self'"
)
"""The Content-Security-Policy of the document."""

_BASIC = """<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"><title>Preview</title>
<style>:root{color-scheme:light}body{margin:16px;background:#fff;color:#111;
font:15px/1.5 Arial,sans-serif;overflow-wrap:anywhere}
pre{white-space:pre-wrap;font:inherit;margin:0}a{color:#0b655d}.rf-image{display:inline-flex;align-items:center;justify-content:center;
box-sizing:border-box;max-width:100%;min-height:32px;padding:4px 8px;border:1px dashed #7f8985;
background:#eff2f0;color:#55615d;font:13px/1.4 Arial,sans-serif;vertical-align:middle}</style>
</head><body>"""
_ELEMENT = re.compile(
    "a|abbr|address|article|b|bdi|bdo|big|blockquote|body|br|caption|center|cite|code|col|colgroup"
    "|dd|del|div|dl|dt|em|figcaption|figure|font|footer|h[1-6]|header|hr|html|i|ins|kbd|li|main"
    "|mark|ol|p|pre|q|s|samp|section|small|span|strike|strong|sub|sup|table|tbody|td|tfoot|th|thead"
    "|tr|tt|u|ul|var"
)
_WITH_CONTENT = re.compile(
    "applet|audio|canvas|frameset|iframe|math|noembed|noframes|noscript|object|script|select|style"
    "|svg|template|textarea|title|video|xmp"
)
"""Elements that are omitted with what they contain. Of others, only the tags are omitted."""
_ATTRIBUTE_NAME = re.compile(
    "align|bgcolor|border|cellpadding|cellspacing|class|color|colspan|dir|face|height|hidden|id"
    "|lang|nowrap|rowspan|size|start|style|type|valign|width"
)
_LINE = re.compile("blockquote|br|div|h[1-6]|hr|li|ol|p|section|table|tr|ul")
"""Elements that begin and end a line of the text."""
_TOKEN = re.compile(
    r"<!--.*?(?:-->|\Z)"
    r"|<(?P<end>/?)(?P<name>[a-z][^\s/>]*)(?P<attributes>(?:[^>\"']+|\"[^\"]*(?:\"|\Z)|'[^']*(?:'|\Z))*)"
    r"(?:>|\Z)"
    r"|<[!?/][^>]*(?:>|\Z)"
    r"|(?P<text>[^<]+|<)",
    re.DOTALL | re.IGNORECASE,
)
_ATTRIBUTE = re.compile(
    r"""([^\s=/>"']+)(?:\s*=\s*(?:"([^"]*)"?|'([^']*)'?|([^\s>]*)))?""", re.DOTALL
)
_IMPORT = re.compile(r"@import", re.IGNORECASE)
_REQUEST = re.compile(r"(?:url|image|image-set|src|element)\s*\(", re.IGNORECASE)
"""What makes a style sheet load something. Its policy refuses this, and reports it."""
_PIXELS = re.compile(r"\d{1,4}(?:px|%)?")


def render_email(html: str) -> str:
    """Return the document that shows HTML."""
    return f"{_BASIC}{''.join(_safe_parts(html))}"


def render_text(text: str) -> str:
    """Return the document that shows a text."""
    return f"{_BASIC}<pre>{escape(text)}</pre>"


def text_of(html: str) -> str:
    """Return what a reader sees of the HTML, as a text with its lines."""
    parts: list[str] = []
    for name, is_end, attributes, text in _tokens(html):
        if not name:
            parts.append(re.sub(r"\s+", " ", unescape(text)))
        elif name == "img" and not is_end:
            parts.append(f"[{_attributes(attributes).get('alt') or 'Image'}]")
        elif _LINE.fullmatch(name):
            parts.append("\n")
        elif name in {"td", "th"} and is_end:
            parts.append(" ")
    lines = (" ".join(line.split()) for line in "".join(parts).split("\n"))
    return re.sub(r"\n{3,}", "\n\n", "\n".join(lines)).strip()


def _safe_parts(html: str) -> Iterator[str]:
    for name, is_end, attributes, text in _tokens(html):
        if not name:
            yield escape(unescape(text), quote=False)
        elif name == "style":
            yield f"<style>{_safe_style(text)}</style>"
        elif name == "img":
            yield _image(_attributes(attributes))
        elif _ELEMENT.fullmatch(name) is None:
            continue
        elif is_end:
            yield f"</{name}>"
        else:
            yield f"<{name}{''.join(_safe_attributes(name, _attributes(attributes)))}>"


def _tokens(html: str) -> Iterator[tuple[str, bool, str, str]]:
    """Yield the name of each tag, whether it ends an element, its attributes, and text.

    A text has no name, and `style` has its text. Each character is read once.
    """
    position = 0
    while position < len(html):
        match = cast("re.Match[str]", _TOKEN.match(html, position))  # Each character is in a token.
        position = match.end()
        name = (match["name"] or "").lower()
        if match["text"]:
            yield "", False, "", match["text"]
        elif name and not match["end"] and _WITH_CONTENT.fullmatch(name):
            end = re.compile(rf"</{name}[^>]*(?:>|\Z)|\Z", re.IGNORECASE).search(html, position)
            start, position = position, len(html) if end is None else end.end()
            if name == "style" and end is not None:
                yield name, False, "", html[start : end.start()]
        elif name:
            yield name, bool(match["end"]), match["attributes"], ""


def _attributes(text: str) -> Mapping[str, str]:
    found = ((name.lower(), unescape(a or b or c)) for name, a, b, c in _ATTRIBUTE.findall(text))
    return dict(found)


def _safe_attributes(name: str, attributes: Mapping[str, str]) -> Iterator[str]:
    for each, value in attributes.items():
        if _ATTRIBUTE_NAME.fullmatch(each):
            yield f' {each}="{escape(_safe_style(value) if each == "style" else value)}"'
    if name == "a" and "href" in attributes:
        # It looks like a link. Its address is shown, and not opened.
        yield f' href="#" title="{escape(attributes["href"])}"'


def _safe_style(text: str) -> str:
    """Return the style sheet without requests. Escapes could hide one, or the end of the sheet."""
    text = _IMPORT.sub("@x", text.replace("\\", ""))
    return _REQUEST.sub("x(", text).replace("</", "< /")


def _image(attributes: Mapping[str, str]) -> str:
    """Return a box in place of an image."""
    sizes = ((name, attributes.get(name, "").strip()) for name in ("width", "height"))
    style = "".join(
        f"{name}:{size if size[-1] in 'x%' else f'{size}px'};"
        for name, size in sizes
        if _PIXELS.fullmatch(size)
    )
    alt = escape(attributes.get("alt") or "Image")
    return f'<span class="rf-image" style="{style}">{alt}</span>'
