"""The example in the README runs and prints the output in its comment."""

import re
import subprocess
import sys
from pathlib import Path

README = Path(__file__).parent.parent / "README.md"


def test_the_embedding_example_prints_the_output_in_its_comment() -> None:
    (example,) = re.findall(r"```python\n(.*?)```", README.read_text("utf-8"), re.DOTALL)
    (promised,) = re.findall(r"print\(.*\)  # (.*)", example)

    run = subprocess.run(
        [sys.executable, "-W", "error", "-c", example], capture_output=True, text=True, check=True
    )

    assert run.stdout.strip() == promised


def test_the_embedding_example_fits_in_fifteen_lines() -> None:
    (example,) = re.findall(r"```python\n(.*?)```", README.read_text("utf-8"), re.DOTALL)

    assert len([line for line in example.splitlines() if line]) <= 15
