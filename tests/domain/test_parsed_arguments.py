"""Functions for content and conditions reject a text that is not parsed."""

from __future__ import annotations

import pytest

from recipient_fields.domain.conditions import check_condition, evaluate, parse_condition
from recipient_fields.domain.content import parse_content, preview_content
from recipient_fields.domain.esp import Esp, check_content, compile_condition, export_content
from recipient_fields.domain.integrations import FieldCodes


@pytest.mark.parametrize(
    "call",
    [
        lambda text: check_content(text, []),
        lambda text: preview_content(text, [], {}),
        lambda text: export_content(text, FieldCodes.of([]), Esp("braze")),
    ],
)
def test_a_text_in_place_of_content_is_a_type_error_with_a_hint(call):
    with pytest.raises(TypeError) as rejected:
        call("Hello")

    assert str(rejected.value) == "content must be a Content, not str. Pass parse_content(text)."


@pytest.mark.parametrize(
    "call",
    [
        lambda text: check_condition(text, []),
        lambda text: evaluate(text, [], {}),
        lambda text: compile_condition(text, FieldCodes.of([]), Esp("braze"), then="yes"),
    ],
)
def test_a_text_in_place_of_a_condition_is_a_type_error_with_a_hint(call):
    with pytest.raises(TypeError) as rejected:
        call("city is set")

    assert str(rejected.value) == (
        "condition must be a Condition, not str. Pass parse_condition(text)."
    )


@pytest.mark.parametrize(
    "call",
    [
        lambda esp: export_content(parse_content("Hello"), FieldCodes.of([]), esp).content,
        lambda esp: compile_condition(
            parse_condition("city is set"), FieldCodes.of([]), esp, then="yes"
        ),
    ],
)
def test_a_text_of_no_esp_is_rejected(call):
    with pytest.raises(ValueError, match=r"'brase' is no Esp\. .* Did you mean braze\?"):
        call("brase")
