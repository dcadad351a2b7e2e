"""What the rows of all formats have in common."""

from __future__ import annotations

MAX_ROW_LENGTH = 1024 * 1024
"""Characters of a row, or bytes, as in the body of a request."""
LINE, REASONS = "_line", "_violations"
"""The columns, or members, with the line and the violations of a rejected row. No key of a field
begins with an underscore."""
