"""Reject modules of the domain that mention how its values are sent: only outer layers know that.

JSON is not rejected. The size of a field is measured as JSON, whatever stores or sends the field.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
_PROFILES = ROOT / "domain" / "esp" / "profiles"
"""The facts about ESPs, whose languages have words such as `body`."""
_WORD = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])")
"""Matches the parts of names, too: `BodySize`, `_BODY` and `read_body` contain the word."""
_HTML_TAGS = re.compile(r'html\|body|"(?:mj-)?body"')
"""Tags of HTML and MJML, in which the word means another thing."""
_REJECTED = {
    *("body", "bodies", "envelope", "envelopes", "header", "headers", "http"),
    *("status", "statuses", "wire", "wired"),
}


def rejected_lines(source: str) -> list[tuple[int, str]]:
    """Return the number and the rejected word of each line that has one."""
    return [
        (number, word)
        for number, line in enumerate(source.splitlines(), 1)
        for word in _WORD.findall(_HTML_TAGS.sub("", line))
        if word.lower() in _REJECTED
    ]


def main() -> None:
    """Fail if a module of the domain has one of these words, and print the lines."""
    modules = sorted(set((ROOT / "domain").rglob("*.py")).difference(_PROFILES.iterdir()))
    found = [
        f"  {path.relative_to(ROOT)}:{number}: {word}"
        for path in modules
        for number, word in rejected_lines(path.read_text(encoding="utf-8"))
    ]
    if not modules or found:
        sys.exit(
            "\n".join(["The domain knows no bodies, envelopes, statuses or wire names:", *found])
        )


if __name__ == "__main__":
    main()
