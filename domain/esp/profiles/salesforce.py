"""Salesforce Marketing Cloud: AMPscript and personalization strings."""

from __future__ import annotations

import re

from attrs import evolve

from ...content import Surface, WarningCode
from ...content.filters import FilterName
from ...content.system_values import SystemValue
from ...fields.values import DataType
from ..languages.ampscript import read_ampscript
from ..languages.condition_writers import write_inline
from ..languages.conditions import Atom, Caveat, ConditionLanguage, Feature, Reading
from ..names import Esp
from . import shared
from .profile import (
    AdjacentText,
    Creation,
    Escaping,
    EventData,
    EventWay,
    FilterForm,
    FilterLanguage,
    FilterRefusal,
    Form,
    Insertion,
    MissingValue,
    Names,
    Profile,
    Quoting,
    Strength,
    SurfaceRules,
    Syntax,
    SystemCode,
    Templates,
    ValueForm,
    Vocabulary,
    words,
)

_NO_CASE = Caveat(
    WarningCode.CASE_INSENSITIVE, "{title} compares and searches texts without regard to case."
)

_DIGITS = (
    "No source establishes how {title} calculates with numbers with more than 15 digits or below"
    " 0.0001. The preview uses 15 digits: 9007199254740991 minus 0.5 is 9007199254740990."
)

# In https://github.com/SalesforceLabs/ampscript-core, NOT negates all that follows it.
_NOT_EMPTY = (Atom("(NOT EMPTY({operand}))", "EMPTY({operand})"),)

_PAGES = "https://developer.salesforce.com/docs/marketing/marketing-cloud-ampscript"

_ENGINE = "https://github.com/SalesforceLabs/ampscript-core"


def _filter(code: str, *differences: str) -> FilterForm:
    return FilterForm(
        code=code,
        needs_value=True,
        source=_PAGES,
        strength=Strength.VENDOR,
        differences=differences,
    )


_DATA = f"{shared.SKILLS}/sfmc-ampscript/references/data-sources.md"


PROFILE = Profile(
    esp=Esp("sfmc"),
    title="Salesforce Marketing Cloud",
    languages=(read_ampscript,),
    names=Names(
        source="help.salesforce.com/apex/HTViewHelpDoc?id=mktg.mc_es_subscriber_attribute_properties.htm",
        strength=Strength.VENDOR,
        rule="A Salesforce Marketing Cloud attribute begins with a letter.",
        forms=(Form(r"[^\W\d_].*", "@VARIABLE"),),
        # `emailaddr` is the vendor's. The others are the columns of most data extensions.
        standard_fields={
            "first_name": "FirstName",
            "last_name": "LastName",
            "email": "emailaddr",
        },
        unlisted=frozenset({"emailaddr"}),
        conventional=frozenset({"FirstName", "LastName"}),
        creation=Creation("Add the field NAME to the data extension of the email.", Strength.NONE),
    ),
    insertion=Insertion(
        source=(
            "developer.salesforce.com/docs/marketing/marketing-cloud-ampscript/guide/mc-ampscript-guide-language-basics-variables.md"
        ),
        code="%%=v(EXPRESSION)=%%",
        with_default='%%=IIf(Empty(EXPRESSION), "DEFAULT", EXPRESSION)=%%',
        prelude='%%[ SET EXPRESSION = AttributeValue("NAME") ]%%',
        delimiters=("%%",),
        quoting=Quoting.DOUBLED,
        missing_value=MissingValue(
            r"%%\s*+\[?[A-Za-z_][^%=\[\]]*+(?:\]\s*+)?%%|\bv\(\s*+[A-Za-z\[][^(]*\)",
            "Salesforce Marketing Cloud stops the send if it lacks the attribute. Read it with"
            ' AttributeValue("NAME").',
        ),
    ),
    conditions=ConditionLanguage(
        write=write_inline,
        tag=("%%[ ", " ]%%"),
        begin="IF {test} THEN",
        alternative="ELSEIF {test} THEN",
        otherwise="ELSE",
        end="ENDIF",
        # An odd number of %% anywhere, or another number of percent signs at an end
        inseparable=(
            r"(?s)\A(?!(?:(?!%%).)*(?:%%(?:(?!%%).)*%%(?:(?!%%).)*)*\Z)"
            r"|\A(?:%(?!%)|%%%)|(?:(?<!%)%|%%%)\Z"
        ),
        joiners=(" AND ", " OR "),
        is_set=_NOT_EMPTY,
        number_is_set=_NOT_EMPTY,
        true=Atom("{operand} == true", "{operand} != true"),
        # The text "0" equals each text that is no number, and "1" equals "1.0".
        equal_texts=Atom(
            'CONCAT("=", {operand}) == CONCAT("=", {value})',
            'CONCAT("=", {operand}) != CONCAT("=", {value})',
        ),
        guards_equality=True,
        order=shared.ORDER_WITH_OPPOSITES,
        readings={
            DataType.DATE: Reading(
                # The function also reads a missing value if the guard before it does not hold.
                'DATEDIFF("{iso}", IIF(EMPTY({operand}), "{iso}", {operand}), "D")',
                date="0",
            ),
        },
        refused={Feature.INSTANT_COMPARISON: shared.NO_INSTANTS},
        contains=Atom("INDEXOF({operand}, {value}) > 0", "INDEXOF({operand}, {value}) == 0"),
        guards_contains=True,
        caveats=dict.fromkeys((Feature.TEXT_EQUALITY, Feature.CONTAINS), (_NO_CASE,)),
    ),
    filters=FilterLanguage(
        output="%%=VALUE=%%",
        forms={
            FilterName.UPPER: _filter("Uppercase(VALUE)", shared.UNKNOWN_LETTERS),
            FilterName.LOWER: _filter("Lowercase(VALUE)", shared.UNKNOWN_LETTERS),
            FilterName.TITLE: evolve(
                _filter("ProperCase(VALUE)", shared.AFTER_WHITE_SPACE), source=_ENGINE
            ),
            FilterName.TRUNCATE: evolve(
                _filter(
                    "%%[ IF Length(VALUE) > ARGUMENT THEN ]%%"
                    '%%=Concat(Substring(VALUE, 1, LESS), "…")=%%'
                    '%%[ ELSE ]%%%%=Concat(VALUE, "")=%%%%[ ENDIF ]%%',
                    "{title} counts characters such as 🚀 as two.",
                ),
                source=_ENGINE,
                is_output=True,
                least=2,
            ),
            FilterName.URL: evolve(
                _filter(
                    'Replace(URLEncode(VALUE, 1, 1), "+", "%20")',
                    "{title} runs AMPscript in the value, writes codes in small letters, such as"
                    " %c3%a9 for é, encodes ~, and encodes neither !*() nor a value of blanks"
                    " only.",
                ),
                source=_ENGINE,
            ),
            FilterName.NUMBER: evolve(
                _filter(
                    'FormatNumber(VALUE, "FARGUMENT", "en-US")',
                    "{title} rounds some halves down, as in 1.005, and can show a negative zero:"
                    " -0.00.",
                ),
                source=_ENGINE,
            ),
            FilterName.PLUS: _filter("Add(VALUE, ARGUMENT)", _DIGITS),
            FilterName.MINUS: _filter("Subtract(VALUE, ARGUMENT)", _DIGITS),
            FilterName.TIMES: _filter(
                "Multiply(VALUE, ARGUMENT)",
                _DIGITS,
                "At {title}, 0 times a negative number can be a negative zero: -0.0.",
            ),
            **shared.refused(
                (FilterName.FIRST, FilterName.JOIN),
                FilterRefusal("{title} reads only attributes, which are no lists."),
            ),
            FilterName.DATE: evolve(
                _filter('Format(VALUE, "ARGUMENT", "Date", "en-US")'),
                source="https://developer.salesforce.com/docs/marketing/marketing-cloud/guide/dateTimeFormatting.html",
                difference_of_instants=(
                    "No source establishes the time zone in which {title} shows an instant, such as"
                    " 2026-11-20T00:30:00.000Z."
                ),
            ),
        },
        dates={
            part: code
            for part, code in shared.JAVA_DATES.items()
            if part not in {"%-m", "%a", "%A"}
        },
        missing_date=(
            "{title} reads M as a month and a day, and two of its pages contradict each other about"
            " the format of weekdays."
        ),
    ),
    surfaces=SurfaceRules(
        html=Escaping.RAW,
        text=Escaping.RAW,
        source=shared.THIRD_PARTY.format("AMPscript"),
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
    system_codes={
        SystemValue.UNSUBSCRIBE: SystemCode(code="%%unsub_center_url%%", source=_DATA),
        SystemValue.PREFERENCES: SystemCode(
            code="%%profile_center_url%%", source=_DATA, also={"subscription_center_url": None}
        ),
        SystemValue.VIEW_IN_BROWSER: SystemCode(code="%%view_email_url%%", source=_DATA),
        SystemValue.SENDER_NAME: SystemCode(code="%%member_busname%%", source=_DATA),
        SystemValue.SENDER_ADDRESS: SystemCode(
            code=(
                "%%member_addr%%, %%member_city%%, %%member_state%% %%member_postalcode%%,"
                " %%member_country%%"
            ),
            source=_DATA,
        ),
        SystemValue.YEAR: SystemCode(code="%%xtyear%%", source=_DATA),
    },
    events=EventData(
        ways=(
            EventWay(
                name="attributes",
                sent_by="the attributes of the subscriber or of the data extension of the send",
                value="",
                source="help.salesforce.com/apex/HTViewHelpDoc?id=mktg.mc_es_subscriber_attribute_properties.htm",
            ),
        ),
        write_path=None,
        caveat="A field with the same name has the same code.",
        # https://developer.salesforce.com/docs/marketing/marketing-cloud-ampscript/guide/mc-ampscript-guide-data-structures.html
        no_loop=(
            "{title} has no lists in attributes: its loops read the rows of a data extension, by"
            " its name and the values of its keys, which content does not have. Write the loop in"
            " AMPscript."
        ),
    ),
    vocabulary=Vocabulary(
        syntax=Syntax.AMPSCRIPT,
        path_functions=words("AttributeValue"),
        # The data bindings of Journey Builder, with braces: `{{Contact.Attribute.SET.NAME}}`.
        events=words("Contact Context Event Interaction InteractionDefaults"),
        system=words(
            "_carrierid _channel _contactid _contactkey _countrycode _createdby _createddate"
            " _datasourcename _emailid _emailname _impressionregionid _impressionregionname"
            " _ishonordst _istestsend _jobsubscriberbatchid _listname _messagecontext"
            " _messagetypepreference _mobilenumber _modifiedby _modifieddate _preheader _priority"
            " _replycontent _sendname _sourceobjectid _subscriberkey _utcoffset additionalinfo_*"
            " advanced_* dma_* double_opt_in_url emailaddr emailname_ ftaf_url jobid linkname"
            " listid listsubid member_* memberid microsite_base_url microsite_url mobilenumber"
            " profile_center_url replyemailaddress replyname subscriberid subscription_center_url"
            " unsub_center_url unsubscribe_url userid usersendername view_email_url xtday"
            " xtdayofweek xtlongdate xtmonth xtmonthnumeric xtshortdate xttime xtyear"
        ),
        # https://developer.salesforce.com/docs/marketing/marketing-cloud-ampscript/references/mc-ampscript-references/mc-ampscript-references-index.html
        variable_mark="@",
        lookups=words(
            "dataextensionrowcount executefilter executefilterorderedrows lookup"
            " lookuporderedrows lookuporderedrowscs lookuprows lookuprowscs"
        ),
        effects=words(
            "addmscrmlistmember addobjectarrayitem attachfile claimrow claimrowvalue"
            " createmscrmrecord createsalesforceobject createsmsconversation deletedata deletede"
            " endsmsconversation httpget httppost httppost2 insertdata insertde invokecreate"
            " invokedelete invokeexecute invokeperform invokeretrieve invokeupdate raiseerror"
            " redirect setobjectproperty setsmsconversationnextkeyword setstatemscrmrecord"
            " treatascontent updatedata updatede updatemscrmrecords updatesinglesalesforceobject"
            " upsertcontact upsertdata upsertde upsertmscrmrecord"
        ),
        common=words("Contact Context Event Interaction unsubscribe_url userid"),
        local=words(
            "and do downto else elseif endif false for if next not null or set then to true var"
        ),
    ),
    adjacent_text=AdjacentText(re.compile(r"(?<!%)(?:%%)*%\Z")),
    api_hosts=r"[a-z0-9-]+\.(?:auth|soap|rest)\.marketingcloudapis\.com",
)
