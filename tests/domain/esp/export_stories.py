"""What the stories of exports say is compared with what an export returns."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from recipient_fields.domain.content import InvalidContent
from recipient_fields.domain.esp import Esp, ExportedContent

from ...support.stories import Story, matches


def refusals(export: Callable[..., ExportedContent], story: Story) -> list[str]:
    """Return the messages with which the export of the story's template is refused."""
    with pytest.raises(InvalidContent) as refused:
        export(Esp(story.esp), story.source, **story.options)
    return [each.message for each in refused.value.violations]


def told(export: Callable[..., ExportedContent], story: Story) -> ExportedContent | None:
    """Export the template of a story, and compare the code, or all messages of the refusal."""
    if story.result is None:
        found = refusals(export, story)
        assert len(found) == len(story.of("refused")), found
        for message, (_, text) in zip(found, story.of("refused"), strict=True):
            assert matches(text, message), message
        return None
    exported = export(Esp(story.esp), story.source, **story.options)
    assert exported.content == story.result
    return exported
