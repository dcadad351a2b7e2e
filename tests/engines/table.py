"""A table of the pairs that differ from the evaluator, per ESP, engine and form of the values.

`make test-engines` installs the engines. `python -m tests.engines.table [PAIRS]` writes the table
into `docs/internals/condition-codes.md`.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

from recipient_fields.domain.esp import PROFILES

from .comparison import compare_with_evaluator
from .generation import Form
from .rendering import ENGINES

PAGE = Path(__file__).parents[2] / "docs" / "internals" / "condition-codes.md"
_PART = re.compile(r"(<!-- measured: engines -->\n).*?(<!-- end -->)", re.DOTALL)


def table(pairs: int) -> str:
    """Return the table for this number of pairs per ESP and engine."""
    lines = [
        ("ESP", "Engine", "Pairs", "Refused", *(form.value for form in Form)),
        ("---",) * (4 + len(Form)),
    ]
    for esp, engines in ENGINES.items():
        for engine in engines:
            result = compare_with_evaluator(esp, engine, pairs)
            refused = 1 - result.expressed / result.generated
            lines.append(
                (
                    PROFILES[esp].title,
                    engine.value if engine else "its documentation",
                    f"{result.pairs:,}",
                    f"{refused:.0%}",
                    *(_cell(result.wrong_by_form[x], result.excused_by_form[x]) for x in Form),
                )
            )
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines)


def _cell(wrong: int, excused: int) -> str:
    return f"{wrong} + {excused}" if excused else str(wrong)


if __name__ == "__main__":
    PAIRS = int(sys.argv[1]) if len(sys.argv) > 1 else 30_000
    written = f"\n{table(PAIRS)}\n\n"
    page = PAGE.read_text("utf-8")
    PAGE.write_text(_PART.sub(lambda part: part[1] + written + part[2], page), "utf-8")
