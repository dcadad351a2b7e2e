"""The commands that the documentation prints, for tests that run exactly these."""

from __future__ import annotations

import re
import shlex
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

_PAGE = Path(__file__).parents[2] / "docs" / "operating" / "other-servers.md"


def printed_commands(program: str) -> list[list[str]]:
    """Return the commands of the page that start this program, with that of this environment."""
    blocks = re.findall(r"^```sh\n(.*?)^```", _PAGE.read_text(), re.DOTALL | re.MULTILINE)
    lines = "".join(blocks).replace("\\\n", " ").splitlines()
    commands = [shlex.split(line) for line in lines]
    path = str(Path(sys.executable).with_name(program))
    return [[path, *each[1:]] for each in commands if each and Path(each[0]).name == program]


def replaced(command: Sequence[str], options: Mapping[str, str]) -> list[str]:
    """Return the command with these values instead of those after the options."""
    found = list(command)
    for option, value in options.items():
        found[found.index(option) + 1] = value
    return found
