"""What the profiles of ESPs with Handlebars share."""

from __future__ import annotations

import re

from ...content import WarningCode
from ..languages.condition_writers import write_nested_blocks
from ..languages.conditions import (
    FALSY_IN_PYTHON,
    Atom,
    Caveat,
    ConditionLanguage,
    Falsy,
    Presence,
)
from ..languages.handlebars import find_stripped
from .profile import AdjacentText, Engine, words

HELPERS = words("and each else if or unless")

LOCAL = words("@ as else false null this true undefined")

RESERVED = "@ as else false if each log lookup null this true undefined unless with"

BOOLEANS = Caveat(
    WarningCode.BOOLEAN_AS_TEXT,
    f'{Engine.HANDLEBARS.value} reads the boolean false as true if it is stored as text: "false".',
)

EMPTY_IS_FALSE = Caveat(
    WarningCode.EMPTY_TEXT_IS_FALSE,
    f"{Engine.HANDLEBARS.value} reads an empty text in a boolean field as false.",
)

WHOLE_SECONDS = Caveat(
    WarningCode.WHOLE_SECONDS,
    "{title} compares instants in whole seconds: 09:15:00.500 equals 09:15:00.",
)

CONDITIONS = ConditionLanguage(
    write=write_nested_blocks,
    tag=("{{", "}}"),
    begin="#{test}",
    alternative=None,
    end="/{helper}",
    truth="if ",
    inseparable=r"\A\}|[{\\]\Z",
    is_set=(Atom("if {operand}"),),
    presences=(Presence((Atom("if {operand}"),), FALSY_IN_PYTHON - {Falsy.EMPTY_OBJECT}),),
    zero='"0"',  # An empty text equals the number 0, but not the text "0".
    true=Atom("if {operand}"),
    state=Atom("if {operand}"),
)

BLOCK_WITH_DEFAULT = "{{#if EXPRESSION}}{{EXPRESSION}}{{else}}DEFAULT{{/if}}"

ADJACENT_TEXT = AdjacentText(
    re.compile(r"\{\Z"),
    escape="\\",
    separator="{{! }}",
    find_stripped=find_stripped,
)

KEEPING = r"Write a backslash before each tag: `\{{title}}`."
