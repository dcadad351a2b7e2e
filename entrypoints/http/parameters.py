"""Query parameters: each known and given once, or the request is refused.

A typo must not return everything.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from urllib.parse import parse_qsl

from recipient_fields.domain import nearest, unstorable

from .problems import Refused

_MOST_PARAMETERS = 20
_HALF_ENCODED = re.compile(r"%(?![0-9A-Fa-f]{2})")


def parse_parameters(query_string: str, known: Collection[str]) -> Mapping[str, str]:
    """The parameters by name; Refused as `invalid_parameter` where one is unknown or repeated."""
    if not query_string:
        return {}
    if _HALF_ENCODED.search(query_string):  # Which `parse_qsl` takes as it is.
        raise refused_parameter("The query string is malformed.")
    try:
        pairs = parse_qsl(
            query_string,
            keep_blank_values=True,
            strict_parsing=True,
            errors="strict",
            max_num_fields=_MOST_PARAMETERS,
        )
    except ValueError:
        raise refused_parameter("The query string is malformed.") from None
    parameters = dict(pairs)
    unknown = [name for name in parameters if name not in known]
    if unknown:
        raise refused_parameter(_takes(known, nearest(unknown[0], known)))
    if len(parameters) < len(pairs):
        raise refused_parameter("A query parameter is given twice. Separate values by commas.")
    if any(unstorable(value) for value in parameters.values()):
        raise refused_parameter("A query parameter holds a null character.")
    return parameters


def refused_parameter(message: str) -> Refused:
    """The refusal of a query parameter."""
    return Refused("invalid_parameter", message)


def _takes(known: Collection[str], meant: str | None) -> str:
    if not known:
        return "This request takes no query parameters. Remove them."
    takes = f"This request takes the query parameters {', '.join(known)}, and no others."
    return takes if meant is None else f"{takes} Did you mean {meant}?"
