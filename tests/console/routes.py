"""All routes of the console, with and without the ids of an organization."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache

from falcon import inspect

from ..http.conftest import Clock
from .conftest import open_console

ORGANIZATION = "organization_id"
PUBLIC = ("/console/static/", "/console/sign-in", "/console/links/", "/console/invitations/")
_PARAMETER = re.compile(r"{(\w+)(?::id)?}")


def paths(method: str, ids: Mapping[str, object], *, default: object = "x") -> list[str]:
    """Return the path of each route with this method. Its parameters are replaced by `ids`."""
    return [
        _PARAMETER.sub(lambda parameter: str(ids.get(parameter[1], default)), template)
        for template in templates(method)
    ]


@cache
def templates(method: str) -> list[str]:
    """Return the template of each route with this method.

    Falcon parses the source of each resource, so it does this once for all tests.
    """
    return sorted(
        route.path
        for route in inspect.inspect_routes(open_console(Clock()).app)
        if any(each.method == method and not each.internal for each in route.methods)
    )


def parameters(template: str) -> list[str]:
    """Return the names of the parameters of a route."""
    return _PARAMETER.findall(template)
