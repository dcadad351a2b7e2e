"""The statements of `docs/operating/upgrading.md` that change the schema of PostgreSQL back."""

from __future__ import annotations

import re
from pathlib import Path

PAGE = Path(__file__).parents[2] / "docs/operating/upgrading.md"


def undo_statements() -> dict[str, str]:
    """Return the statements of the page that undo each migration, in its order."""
    blocks = re.findall(r"```sql\n(BEGIN;\n.*?COMMIT;\n)```", PAGE.read_text("utf-8"), re.S)
    return {re.findall(r"name = '(\w+)'", block)[0]: block for block in blocks}
