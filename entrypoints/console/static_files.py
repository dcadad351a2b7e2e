"""The style sheet, the script and the icon. The URL of each contains a hash of its content."""

from __future__ import annotations

from collections.abc import Mapping
from hashlib import sha256
from pathlib import Path

import falcon
from attrs import frozen

_FOLDER = Path(__file__).parent / "static"
_MEDIA_TYPES = {
    "console.css": "text/css; charset=utf-8",
    "console.js": "text/javascript; charset=utf-8",
    "icon.svg": "image/svg+xml",
}
_ONE_YEAR = "public, max-age=31536000, immutable"


@frozen
class StaticFiles:
    """The files, which are read once."""

    contents: Mapping[str, tuple[bytes, str]]
    """The content and the media type, by the name in the URL."""
    names: Mapping[str, str]
    """The name in the URL, by file name."""

    @classmethod
    def read(cls) -> StaticFiles:
        """Return the files of this package."""
        contents, names = {}, {}
        for file, media_type in _MEDIA_TYPES.items():
            content = (_FOLDER / file).read_bytes()
            stem, suffix = file.split(".")
            names[file] = f"{stem}-{sha256(content).hexdigest()[:16]}.{suffix}"
            contents[names[file]] = (content, media_type)
        return cls(contents, names)


@frozen
class StaticFile:
    """`/console/static/{name}`."""

    files: StaticFiles

    def on_get(self, _req: falcon.Request, resp: falcon.Response, name: str) -> None:
        """Send the file, which never changes under this name."""
        if name not in self.files.contents:
            raise falcon.HTTPNotFound
        resp.data, resp.content_type = self.files.contents[name]
        resp.set_header("Cache-Control", _ONE_YEAR)

    on_head = on_get
