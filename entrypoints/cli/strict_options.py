"""The options `--allow-mistakes` and `--strict`: which warnings are errors."""

from __future__ import annotations

import click

from recipient_fields.domain.content import DEFAULT_STRICT, Strict

from .options import F, option


def strict_options(command: F) -> F:
    """Add `--allow-mistakes` and `--strict` to the command."""
    allow = option(
        "--allow-mistakes",
        is_flag=True,
        help="Only warn of mistakes. Without this option, the command fails if there are any.",
    )
    strict = option("--strict", is_flag=True, help="Fail if there are caveats, too.")
    return allow(strict(command))


def chosen_strictness(*, allow_mistakes: bool, strict: bool) -> Strict:
    """Return which warnings the options reject. Both options together are a usage error."""
    if allow_mistakes and strict:
        raise click.UsageError("Use either --allow-mistakes or --strict.")
    if allow_mistakes:
        return False
    return strict or DEFAULT_STRICT
