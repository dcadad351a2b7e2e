"""SendGrid: Handlebars. The caller of the API chooses the names of values."""

from __future__ import annotations

from attrs import evolve

from ...conditions import Operator
from ...content import WarningCode
from ...content.filters import FilterName
from ...content.system_values import SystemValue
from ...fields.values import DataType
from ..languages.conditions import Atom, Caveat, Feature, Reading
from ..languages.handlebars import read_handlebars, read_substitutions
from ..languages.paths import write_handlebars
from ..names import Esp
from . import handlebars, shared
from .profile import (
    Creation,
    Engine,
    Escaping,
    EventData,
    EventWay,
    FilterForm,
    FilterLanguage,
    FilterRefusal,
    Form,
    Insertion,
    LinkRule,
    LoopForm,
    Names,
    Profile,
    Strength,
    SurfaceRules,
    Syntax,
    SystemCode,
    Templates,
    ValueForm,
    Vocabulary,
    words,
)

_HELPERS = "https://www.twilio.com/docs/sendgrid/for-developers/sending-email/using-handlebars"

_DATES = Caveat(
    WarningCode.SECONDARY_SOURCES,
    "{title} documents only the helper length in parentheses. Handlebars permits all helpers there:"
    " test the email.",
)

_DOCS = "github.com/sendgrid/docs/blob/develop/content/docs/ui/sending-email"


_WHOLE_LINK = shared.WHOLE_LINK.format("SendGrid")


def _only_campaigns(transactional: str) -> str:
    return f"SendGrid shows this only in Marketing Campaigns. {transactional}"


def _in_transactional(code: str) -> str:
    return _only_campaigns(f"Write `{code}` in transactional templates.")


_RESERVED = frozenset(
    f"{handlebars.RESERVED} and equals formatDate greaterThan insert length lessThan"
    " notEquals or root".split()
)


PROFILE = Profile(
    esp=Esp("sendgrid"),
    title="SendGrid",
    languages=(read_handlebars, read_substitutions),
    engines={Engine.HANDLEBARS: "SendGrid documents Handlebars."},
    names=Names(
        source="github.com/sendgrid/docs/blob/develop/content/docs/ui/managing-contacts/custom-fields.md",
        strength=Strength.VENDOR,
        rule=(
            "A SendGrid field is 1 to 100 letters, digits and underscores, and does not begin with"
            " a digit."
        ),
        forms=(Form(r"[A-Za-z_][A-Za-z0-9_]{0,99}", "NAME"),),
        reserved=_RESERVED,
        # The vendor's pages establish these names.
        standard_fields={
            "first_name": "first_name",
            "last_name": "last_name",
            "email": "email",
            "phone": "phone_number",
            "city": "city",
            "country": "country",
        },
        creation=Creation(
            "Create the custom field NAME: POST /v3/marketing/field_definitions.", Strength.VENDOR
        ),
    ),
    insertion=Insertion(
        source=_HELPERS,
        code="{{EXPRESSION}}",
        with_default='{{insert EXPRESSION "default=DEFAULT"}}',
        default_caveat=(
            "SendGrid does not document whether it shows the default instead of an empty text."
        ),
    ),
    conditions=evolve(
        handlebars.CONDITIONS,
        equal=Atom("equals {operand} {value}"),
        order={
            Operator.LESS: Atom("lessThan {operand} {value}"),
            Operator.GREATER: Atom("greaterThan {operand} {value}"),
        },
        readings={
            DataType.DATE: Reading('(formatDate {operand} "YYYYMMDD")', date="{digits}"),
            DataType.DATETIME: Reading(
                '(formatDate {operand} "YYYYMMDDHHmmss" "+0000")', date="{digits}"
            ),
        },
        refused={Feature.CONTAINS: shared.NO_CONTAINS},
        caveats={
            Feature.TRUE: (handlebars.BOOLEANS,),
            Feature.FALSE: (handlebars.BOOLEANS, handlebars.EMPTY_IS_FALSE),
            Feature.BOOLEAN_SET: (handlebars.EMPTY_IS_FALSE,),
            Feature.DATE_COMPARISON: (_DATES,),
            Feature.INSTANT_COMPARISON: (_DATES, handlebars.WHOLE_SECONDS),
        },
    ),
    filters=FilterLanguage(
        output="{{VALUE}}",
        forms={
            **shared.refused(
                FilterName,
                FilterRefusal(
                    "{title} has no helper for this. Send a value in this form.",
                    _HELPERS,
                    Strength.VENDOR,
                ),
            ),
            FilterName.DATE: FilterForm(
                code='formatDate VALUE "ARGUMENT"',
                needs_value=True,
                source=_HELPERS,
                strength=Strength.VENDOR,
                difference_of_instants=shared.INSTANTS,
            ),
        },
        dates=shared.date_parts("DD D MM M MMM MMMM YY YYYY ddd dddd"),
        joins=False,
    ),
    surfaces=SurfaceRules(
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
        unescaped_default=handlebars.BLOCK_WITH_DEFAULT,
        # https://github.com/sendgrid/email-templates/issues/70 and 93
        block_in_table=(
            "SendGrid's design editor moves blocks between rows out of the table, and they break"
            " the plain text that SendGrid creates. Write the block in a cell, or use the code"
            " editor and write the plain text."
        ),
    ),
    system_codes={
        SystemValue.UNSUBSCRIBE: SystemCode(
            code="{{{unsubscribe}}}",
            source=f"{_DOCS}/create-and-manage-unsubscribe-groups.md",
            strength=Strength.VENDOR,
            caveat=_in_transactional("<%asm_group_unsubscribe_raw_url%>"),
            also={"asm_group_unsubscribe_raw_url": None, "asm_group_unsubscribe_url": _WHOLE_LINK},
        ),
        SystemValue.UNSUBSCRIBE_ALL: (
            "SendGrid has this link only in transactional templates. Write"
            " `<%asm_global_unsubscribe_raw_url%>` there."
        ),
        SystemValue.PREFERENCES: SystemCode(
            code="{{{unsubscribe_preferences}}}",
            source="public templates on github.com with `{{{unsubscribe_preferences}}}`",
            caveat=_in_transactional("<%asm_preferences_raw_url%>"),
            also={"asm_preferences_raw_url": None, "asm_preferences_url": _WHOLE_LINK},
        ),
        SystemValue.VIEW_IN_BROWSER: SystemCode(
            code="{{Weblink}}",
            source=f"{_DOCS}/weblink.md",
            strength=Strength.VENDOR,
            caveat=_only_campaigns("Remove it from transactional templates."),
        ),
        SystemValue.SENDER_NAME: SystemCode(
            code="{{Sender_Name}}",
            source=f"{_DOCS}/editor.md",
            strength=Strength.VENDOR,
            caveat=_only_campaigns(shared.NOT_THE_COMPANY),
            caveat_of_reading=shared.NOT_THE_COMPANY,
        ),
        SystemValue.SENDER_ADDRESS: SystemCode(
            code=(
                "{{Sender_Address}}, {{Sender_City}}, {{Sender_State}} {{Sender_Zip}},"
                " {{Sender_Country}}"
            ),
            source=f"{_DOCS}/editor.md",
            strength=Strength.VENDOR,
            caveat=_only_campaigns("Write the address in transactional templates."),
        ),
    },
    events=EventData(
        ways=(
            EventWay(
                name="dynamic_template_data",
                sent_by="the `dynamic_template_data` of the request, with bare names",
                value="",
                source=_HELPERS,
            ),
        ),
        write_path=write_handlebars,
        loop=LoopForm(
            opening="{{#each ITEMS}}",
            otherwise="{{else}}",
            closing="{{/each}}",
            variable="this",
            root="@root",
            hides_outer=True,
            members={"first": "@first", "last": "@last"},
            source=_HELPERS,
            strength=Strength.VENDOR,
        ),
        reserved=_RESERVED,
        caveat="A field of the contact with the same name has the same code.",
    ),
    link_rule=LinkRule(
        "SendGrid does not send a campaign without a link to unsubscribe.",
        f"{_DOCS}/create-and-manage-unsubscribe-groups.md",
        Strength.VENDOR,
    ),
    vocabulary=Vocabulary(
        syntax=Syntax.HANDLEBARS,
        any_name=True,
        field_pattern=r"[A-Za-z_]\w*",
        system=words(
            "Sender_Address Sender_City Sender_Country Sender_Name Sender_State Sender_Zip Weblink"
            " weblink asm_global_unsubscribe_raw_url asm_global_unsubscribe_url"
            " asm_group_unsubscribe_raw_url asm_group_unsubscribe_url asm_preferences_raw_url"
            " asm_preferences_url Unsubscribe Unsubscribe_Preferences unsubscribe"
            " unsubscribe_preferences"
        ),
        # Public templates for Iterable use these helpers, too.
        common=words("formatDate length unsubscribe_preferences"),
        local=handlebars.LOCAL | words("root"),
        filters=words("default"),  # `{{name | text}}`
        tags=handlebars.HELPERS
        | words("equals formatDate greaterThan insert length lessThan notEquals"),
    ),
    adjacent_text=handlebars.ADJACENT_TEXT,
    keeping=handlebars.KEEPING,
    api_hosts=r"api(?:\.eu)?\.sendgrid\.com",
)
