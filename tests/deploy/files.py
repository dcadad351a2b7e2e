"""The files in `docs/deploy`."""

from __future__ import annotations

from pathlib import Path

REPOSITORY = Path(__file__).parents[2]
DEPLOY = REPOSITORY / "docs" / "deploy"
