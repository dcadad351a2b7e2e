"""Tables of stories: a request for a field, and what the client receives.

The sentence of a story is the id of its case.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import pytest
from attrs import Factory, frozen

from .api import FIELDS, Api, ApiResponse, enveloped

Members = dict[str, Any]


@frozen
class Story:
    """A request, such as `PATCH {key}`, and its outcome.

    `body` has members of the field, or is any body. `outcome` depends on the table.
    """

    request: str
    body: Members | str
    outcome: Any
    headers: Mapping[str, str] = Factory(dict)

    def send(self, api: Api, field: Mapping[str, Any]) -> ApiResponse:
        """Send the request, for a field with these members."""
        method, _, reference = self.request.format(**field).partition(" ")
        body = self.body if isinstance(self.body, str) else enveloped(self.body)
        path = f"{FIELDS}/{reference}" if reference else FIELDS
        return api.send(method, path, body, **self.headers)


def stories(table: Mapping[str, object]) -> pytest.MarkDecorator:
    """Run a test with each `story` of the table."""
    cases = [pytest.param(story, id=sentence) for sentence, story in table.items()]
    return pytest.mark.parametrize("story", cases)


def outcome(response: ApiResponse) -> tuple[int, str] | list[str]:
    """Return the details of a 422 in their order, or the status and the code of another error.

    A detail is `pointer: code`, without `/recipient_field/` before the name of a member.
    """
    if response.status_and_code != (422, "validation_failed"):
        return response.status_and_code
    details = [f"{each['pointer']}: {each['code']}" for each in response.error["details"]]
    return [re.sub(r"\A/recipient_field/(?=\w)", "", detail) for detail in details]
