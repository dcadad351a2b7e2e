"""What the stories of exports say is compared with what an export returns."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from recipient_fields.domain.content import InvalidContent
from recipient_fields.domain.esp import Esp, ExportedContent

from ...support.stories import Story, matches


def told(export: Callable[..., ExportedContent], story: Story) -> None:
    """Export the template of a story, and compare the code, or all messages of the refusal."""
    if story.result is not None:
        assert export(Esp(story.esp), story.source, **story.options).content == story.result
        return
    with pytest.raises(InvalidContent) as refused:
        export(Esp(story.esp), story.source, **story.options)
    messages = [each.message for each in refused.value.violations]
    assert len(messages) == len(story.of("refused")), messages
    for message, (_, text) in zip(messages, story.of("refused"), strict=True):
        assert matches(text, message), message
