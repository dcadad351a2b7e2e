"""The links, the sender and the year of each ESP, by the names in its dialect.

The values are the stand-ins of the preview.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime

from recipient_fields.domain.content import SystemValue, parse_content, preview_content
from recipient_fields.domain.esp import Esp

TODAY = datetime.now(UTC).date()


def shown(value: SystemValue) -> str:
    """Return what the preview shows."""
    return preview_content(parse_content(str(value)), [], {}, today=TODAY).content


_LEAVE, _PREFERENCES, _WEB, _NAME, _ADDRESS, _YEAR = (
    shown(value)
    for value in (
        SystemValue.UNSUBSCRIBE,
        SystemValue.PREFERENCES,
        SystemValue.VIEW_IN_BROWSER,
        SystemValue.SENDER_NAME,
        SystemValue.SENDER_ADDRESS,
        SystemValue.YEAR,
    )
)
_STREET, _CITY, _STATE_AND_CODE, _COUNTRY = _ADDRESS.split(", ")
_STATE, _CODE = _STATE_AND_CODE.split()

SYSTEM_VALUES: Mapping[Esp, Mapping[str, object]] = {
    Esp("sfmc"): {
        "unsub_center_url": _LEAVE,
        "profile_center_url": _PREFERENCES,
        "view_email_url": _WEB,
        "member_busname": _NAME,
        "member_addr": _STREET,
        "member_city": _CITY,
        "member_state": _STATE,
        "member_postalcode": _CODE,
        "member_country": _COUNTRY,
        "xtyear": _YEAR,
    },
    Esp("mailchimp"): {
        "UNSUB": _LEAVE,
        "UPDATE_PROFILE": _PREFERENCES,
        "ARCHIVE": _WEB,
        "ARCHIVE_PAGE": "",
        "LIST:COMPANY": _NAME,
        "LIST:ADDRESSLINE": _ADDRESS,
        "CURRENT_YEAR": _YEAR,
    },
    Esp("klaviyo"): {
        "unsubscribe_link": _LEAVE,
        "manage_preferences_link": _PREFERENCES,
        "web_view_link": _WEB,
        "current_year": _YEAR,
        "organization": {"name": _NAME, "full_address": _ADDRESS},
    },
    Esp("braze"): {"set_user_to_unsubscribed_url": _LEAVE},
    Esp("customerio"): {
        "unsubscribe_url": _LEAVE,
        "manage_subscription_preferences_url": _PREFERENCES,
        "view_in_browser_url": _WEB,
    },
    Esp("hubspot"): {
        "unsubscribe_link": _LEAVE,
        "unsubscribe_link_all": shown(SystemValue.UNSUBSCRIBE_ALL),
        "view_as_page_url": _WEB,
        "local_dt": TODAY,
        "site_settings": {
            "company_name": _NAME,
            "company_street_address_1": _STREET,
            "company_street_address_2": "",
            "company_city": _CITY,
            "company_state": _STATE,
            "company_zip": _CODE,
            "company_country": _COUNTRY,
        },
    },
    Esp("sendgrid"): {
        "unsubscribe": _LEAVE,
        "unsubscribe_preferences": _PREFERENCES,
        "Weblink": _WEB,
        "Sender_Name": _NAME,
        "Sender_Address": _STREET,
        "Sender_City": _CITY,
        "Sender_State": _STATE,
        "Sender_Zip": _CODE,
        "Sender_Country": _COUNTRY,
    },
    Esp("iterable"): {
        "unsubscribeUrl": _LEAVE,
        "hostedUnsubscribeUrl": _PREFERENCES,
        "viewInBrowserUrl": _WEB,
        "companyName": _NAME,
        "physicalAddress": _ADDRESS,
    },
    Esp("brevo"): {
        "unsubscribe": _LEAVE,
        "update_profile": _PREFERENCES,
        "mirror": _WEB,
        "sender": {"name": _NAME, "address": _ADDRESS},
    },
    Esp("onesignal"): {"unsubscribe_url": _LEAVE},
    Esp("activecampaign"): {
        "UNSUBSCRIBELINK": _LEAVE,
        "UPDATELINK": _PREFERENCES,
        "WEBCOPY": _WEB,
        "SENDER-INFO-SINGLELINE": f"{_NAME}, {_ADDRESS}",
    },
}
"""What the engines know besides the fields of a recipient."""
IN_ANOTHER_FORM: Mapping[tuple[Esp, SystemValue], str] = {
    (Esp("hubspot"), SystemValue.SENDER_ADDRESS): (
        f"{_STREET}  {_CITY} {_STATE} {_CODE} {_COUNTRY}"  # without a second line of the street
    ),
    (Esp("hubspot"), SystemValue.PREFERENCES): shown(SystemValue.UNSUBSCRIBE),
    (Esp("activecampaign"), SystemValue.UNSUBSCRIBE_ALL): f"{shown(SystemValue.UNSUBSCRIBE)}&ALL",
    (Esp("activecampaign"), SystemValue.SENDER_ADDRESS): (
        f"{shown(SystemValue.SENDER_NAME)}, {shown(SystemValue.SENDER_ADDRESS)}"
    ),
}
"""What an ESP shows instead of the stand-in of the preview."""
