"""The options `--strict` and `--strict-caveats` of commands that print code for an ESP."""

from __future__ import annotations

from recipient_fields.domain.content import Strict

from .options import F, option


def strict_options(command: F) -> F:
    """Add `--strict` and `--strict-caveats` to the command."""
    mistakes = option("--strict", is_flag=True, help="Print nothing if there are mistakes.")
    caveats = option(
        "--strict-caveats", is_flag=True, help="Print nothing if there are mistakes or caveats."
    )
    return mistakes(caveats(command))


def chosen_strictness(*, strict: bool, strict_caveats: bool) -> Strict:
    """Return which warnings the options reject."""
    if strict_caveats:
        return True
    return "mistakes" if strict else False
