"""The commands of `docs/integrations.md` run as they are written and print what is shown."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

DOCS = Path(__file__).parents[2] / "docs"
END = "\x1e"

_BLOCK = re.compile(r"```(sh|text)\n(.*?)```", re.DOTALL)


def test_the_page_about_integrations_shows_what_happens(tmp_path: Path) -> None:
    blocks = _BLOCK.findall((DOCS / "integrations.md").read_text("utf-8"))
    commands = [text for kind, text in blocks if kind == "sh"]
    expected = [text for kind, text in blocks if kind == "text"]
    assert [kind for kind, _ in blocks] == ["sh", "text"] * len(commands)

    script = "exec 2>&1\n" + "".join(f"{command}printf '{END}'\n" for command in commands)
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    run = subprocess.run(
        ["bash", "-euo", "pipefail", "-c", script],
        cwd=tmp_path,
        env={**os.environ, "PATH": path},
        capture_output=True,
        text=True,
        check=True,
        timeout=120,
    )
    assert run.stdout.split(END)[:-1] == expected
