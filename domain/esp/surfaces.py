"""What ESPs do with HTML in values on each surface, and the insertion codes that change it."""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum

from attrs import frozen

from ..content.surfaces import Surface
from .dialects import Esp

__all__ = ["SURFACE_RULES", "Escaping", "SurfaceRules", "Templates", "ValueForm"]


class Escaping(Enum):
    """What the usual insertion code does with HTML in values."""

    ESCAPED = "escaped"
    RAW = "raw"
    UNKNOWN = "not established"


class ValueForm(Enum):
    """How an insertion code shows the value."""

    USUAL = "as the ESP shows it"
    ESCAPED = "escaped for HTML"
    RAW = "as it is"
    LINK = "as the URL of a link"


@frozen
class Templates:
    """The insertion code of a form, and that with a default, as in `Dialect`."""

    insertion: str
    insertion_with_default: str


@frozen(kw_only=True)
class SurfaceRules:
    """What one ESP does with HTML in the values of text fields.

    `source` says who establishes this. `forms` are the insertion codes that differ from the usual
    one. No form changes the default, which is a part of the content. `unescaped_default` is the
    code of a text whose default has characters of HTML, if the usual code escapes both. `caveats`
    name what can be wrong on a surface although its form is used, and `block_in_table` what happens
    to a block between the rows of a table.
    """

    html: Escaping = Escaping.UNKNOWN
    text: Escaping = Escaping.UNKNOWN
    subject: Escaping = Escaping.UNKNOWN
    source: str
    forms: Mapping[ValueForm, Templates] = {}
    unescaped_default: str | None = None
    caveats: Mapping[Surface, str] = {}
    block_in_table: str | None = None

    def escaping(self, surface: Surface) -> Escaping:
        """Return what the usual insertion code does on this surface."""
        by_surface = {Surface.HTML: self.html, Surface.TEXT: self.text}
        return by_surface.get(surface, self.subject)

    def form(self, surface: Surface) -> ValueForm:
        """Return the form that shows the value itself on this surface."""
        escaping = self.escaping(surface)
        wanted = ValueForm.RAW
        if surface is Surface.HTML:
            wanted = ValueForm.ESCAPED if escaping is Escaping.RAW else ValueForm.USUAL
        is_needed = wanted is ValueForm.ESCAPED or escaping is not Escaping.RAW
        return wanted if is_needed and wanted in self.forms else ValueForm.USUAL


_THIRD_PARTY = "A third party's guide to {}, email-love/esp-skills"
_NOTHING = "None found"
_NOT_ESTABLISHED = (
    "No source establishes whether {} escapes HTML in values. A value with < or & can spoil the"
    " email, or show entities."
)
_BREVO = (
    "A third party's guide says that Brevo does not escape HTML in values. pongo2 and Django escape"
    " it. A value with < or & can spoil the email, or show entities."
)
_BLOCK_WITH_DEFAULT = "{{#if EXPRESSION}}{{EXPRESSION}}{{else}}DEFAULT{{/if}}"
_IF_SET = '{% if EXPRESSION != nil and EXPRESSION != "" %}'

SURFACE_RULES: Mapping[Esp, SurfaceRules] = {
    Esp.SALESFORCE: SurfaceRules(
        html=Escaping.RAW,
        text=Escaping.RAW,
        source=_THIRD_PARTY.format("AMPscript"),
        forms={
            ValueForm.LINK: Templates(
                "%%=RedirectTo(EXPRESSION)=%%",
                '%%=RedirectTo(IIf(Empty(EXPRESSION), "DEFAULT", EXPRESSION))=%%',
            ),
        },
        caveats={
            Surface.HTML: (
                "Salesforce Marketing Cloud does not escape HTML in values, and AMPscript has no"
                " function for it. A value with < or & can spoil the email."
            )
        },
    ),
    Esp.MAILCHIMP: SurfaceRules(
        source=_NOTHING, caveats={Surface.HTML: _NOT_ESTABLISHED.format("Mailchimp")}
    ),
    Esp.KLAVIYO: SurfaceRules(
        html=Escaping.ESCAPED,
        source=_THIRD_PARTY.format("Klaviyo"),
        # `safe` is right whether or not the surface escapes.
        forms={
            ValueForm.RAW: Templates(
                "{{ EXPRESSION|default_if_none:''|safe }}",
                "{{ EXPRESSION|default:'DEFAULT'|safe }}",
            ),
        },
    ),
    Esp.BRAZE: SurfaceRules(
        html=Escaping.RAW,
        text=Escaping.RAW,
        source=_THIRD_PARTY.format("Liquid"),
        forms={
            ValueForm.ESCAPED: Templates(
                "{{EXPRESSION | escape}}", "{{EXPRESSION | escape | default: 'DEFAULT'}}"
            ),
        },
    ),
    Esp.CUSTOMER_IO: SurfaceRules(
        html=Escaping.RAW,
        text=Escaping.RAW,
        subject=Escaping.RAW,
        source=_THIRD_PARTY.format("Liquid"),
        forms={
            ValueForm.ESCAPED: Templates(
                "{{EXPRESSION | escape}}",
                _IF_SET + "{{EXPRESSION | escape}}{% else %}DEFAULT{% endif %}",
            ),
        },
        caveats={
            Surface.HTML: (
                "Customer.io's legacy Liquid, which accounts from before 28 November 2023 can use,"
                " encodes values for URLs with `escape`. Use the latest Liquid, or export raw"
                " values."
            )
        },
    ),
    Esp.HUBSPOT: SurfaceRules(
        source=_NOTHING, caveats=dict.fromkeys(Surface, _NOT_ESTABLISHED.format("HubSpot"))
    ),
    Esp.SENDGRID: SurfaceRules(
        html=Escaping.ESCAPED,
        text=Escaping.ESCAPED,
        subject=Escaping.ESCAPED,
        source="SendGrid's page Using Handlebars",
        # No source establishes the helper `insert` in three braces.
        forms={
            ValueForm.RAW: Templates(
                "{{{EXPRESSION}}}", "{{#if EXPRESSION}}{{{EXPRESSION}}}{{else}}DEFAULT{{/if}}"
            ),
        },
        unescaped_default=_BLOCK_WITH_DEFAULT,
        # https://github.com/sendgrid/email-templates/issues/70 and 93
        block_in_table=(
            "SendGrid's design editor moves blocks between rows out of the table, and they break"
            " the plain text that SendGrid creates. Write the block in a cell, or use the code"
            " editor and write the plain text."
        ),
    ),
    Esp.ITERABLE: SurfaceRules(
        html=Escaping.ESCAPED,
        text=Escaping.ESCAPED,
        subject=Escaping.ESCAPED,
        source=_THIRD_PARTY.format("Handlebars"),
        forms={
            ValueForm.RAW: Templates(
                "{{{EXPRESSION}}}", '{{{defaultIfEmpty EXPRESSION "DEFAULT"}}}'
            ),
        },
        unescaped_default=_BLOCK_WITH_DEFAULT,
    ),
    Esp.BREVO: SurfaceRules(
        source="A third party's guide, mailtrap-skills, which the engines contradict",
        caveats=dict.fromkeys(Surface, _BREVO),
    ),
    Esp.ACTIVECAMPAIGN: SurfaceRules(
        source=_NOTHING, caveats={Surface.HTML: _NOT_ESTABLISHED.format("ActiveCampaign")}
    ),
}
"""The rules of each ESP. A code that no source establishes is not used."""
