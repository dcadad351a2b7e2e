"""All routes of the console, with and without the ids of an organization."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import falcon
from falcon import inspect

ORGANIZATION = "organization_id"
PUBLIC = ("/console/static/", "/console/sign-in", "/console/links/", "/console/invitations/")
_PARAMETER = re.compile(r"{(\w+)(?::id)?}")


def paths(
    app: falcon.App[Any, Any], method: str, ids: Mapping[str, object], *, default: object = "x"
) -> list[str]:
    """Return the path of each route with this method. Its parameters are replaced by `ids`."""
    return [
        _PARAMETER.sub(lambda parameter: str(ids.get(parameter[1], default)), template)
        for template in templates(app, method)
    ]


def templates(app: falcon.App[Any, Any], method: str) -> list[str]:
    """Return the template of each route with this method."""
    return sorted(
        route.path
        for route in inspect.inspect_routes(app)
        if any(each.method == method and not each.internal for each in route.methods)
    )


def parameters(template: str) -> list[str]:
    """Return the names of the parameters of a route."""
    return _PARAMETER.findall(template)
