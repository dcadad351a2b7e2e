"""The Liquid of Braze and Customer.io: templates and contexts for the engines of Liquid."""

from __future__ import annotations

import re
from collections.abc import Mapping

_TAG = re.compile(
    r"\{\{(?:[^{}]|\$\{[^{}]*\})*\}\}|\{%(?:[^%{}]|%(?!\})|\$\{[^{}]*\})*%\}", re.DOTALL
)
_CUSTOM = re.compile(r"""\bcustom_attribute\.\$\{([^{}"']*)\}""")
_STANDARD = re.compile(r"""(?<![\w.])\$\{([^{}"']*)\}""")


def braze_to_liquid(template: str) -> str:
    """Return the template with `${name}` in its tags replaced, as Braze does.

    It is a custom attribute after `custom_attribute.`, otherwise a standard one.
    https://www.braze.com/docs/user_guide/personalization_and_dynamic_content/liquid/
    """

    def replaced(tag: re.Match[str]) -> str:
        code = _CUSTOM.sub(r'custom_attribute["\1"]', tag[0])
        return _STANDARD.sub(r'standard_attribute["\1"]', code)

    return _TAG.sub(replaced, template)


def braze_context(values: Mapping[str, object]) -> Mapping[str, object]:
    return {"custom_attribute": values, "standard_attribute": values}


def customer_io_context(values: Mapping[str, object]) -> Mapping[str, object]:
    return {"customer": values}
