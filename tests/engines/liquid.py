"""The Liquid of Braze, Customer.io and OneSignal: templates and contexts for the engines."""

from __future__ import annotations

import re
from collections.abc import Mapping

from recipient_fields.domain.content.preview import format_value
from recipient_fields.domain.esp import Esp

from .event import event_of
from .system_values import SYSTEM_VALUES

_TAG = re.compile(
    r"\{\{(?:[^{}]|\$\{[^{}]*\})*\}\}|\{%(?:[^%{}]|%(?!\})|\$\{[^{}]*\})*%\}", re.DOTALL
)
_CUSTOM = re.compile(r"""\bcustom_attribute\.\$\{([^{}"']*)\}""")
_CUSTOMER_IO = re.compile(r"\{% (\w+_url) %\}")
_EVENT = re.compile(r"""\bevent_properties\.\$\{([^{}"']*)\}""")
_STANDARD = re.compile(r"""(?<![\w.])\$\{([^{}"']*)\}""")


def braze_to_liquid(template: str) -> str:
    """Return the template with `${name}` in its tags replaced, as Braze does.

    It is a custom attribute after `custom_attribute.`, otherwise a standard one.
    https://www.braze.com/docs/user_guide/personalization_and_dynamic_content/liquid/
    """

    def replaced(tag: re.Match[str]) -> str:
        code = _CUSTOM.sub(r'custom_attribute["\1"]', tag[0])
        code = _EVENT.sub(r'event_properties["\1"]', code)
        return _STANDARD.sub(r'standard_attribute["\1"]', code)

    return _TAG.sub(replaced, template)


def customer_io_to_liquid(template: str) -> str:
    """Return the template with variables instead of the tags that only Customer.io has."""
    return _CUSTOMER_IO.sub(r"{{ system.\1 }}", template)


def braze_context(values: Mapping[str, object]) -> Mapping[str, object]:
    standard = {**SYSTEM_VALUES[Esp("braze")], **values}
    return {
        "custom_attribute": values,
        "standard_attribute": standard,
        "event_properties": event_of(values),
    }


def customer_io_context(values: Mapping[str, object]) -> Mapping[str, object]:
    system = SYSTEM_VALUES[Esp("customerio")]
    return {"customer": values, "system": system, "event": event_of(values)}


def onesignal_to_liquid(template: str) -> str:
    """Return the template with the link to unsubscribe, which is no code of Liquid."""
    leave = SYSTEM_VALUES[Esp("onesignal")]["unsubscribe_url"]
    return template.replace("[unsubscribe_url]", str(leave))


def onesignal_context(values: Mapping[str, object]) -> Mapping[str, object]:
    """Return the values as tags of a user, which are texts, and the event data of the message."""
    tags = {name: _tag(value) for name, value in values.items()}
    return {**tags, "message": {"custom_data": event_of(values)}}


def _tag(value: object) -> object:
    match value:
        case bool():
            return str(value).lower()
        case int() | float():
            return format_value(value)
    return value
