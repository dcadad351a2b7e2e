"""Links, the sender, the date of today, and code that only the source needs."""

from __future__ import annotations

import pytest

from recipient_fields.domain.integrations import Outcome, convert

from ...support.stories import stories
from .conversion_stories import by_hand, other_reasons, told

WITHOUT_CAVEATS = """
# the code of other ESPs for the sender and links
brevo: {{ sender.company }} => {{sender.name}}
sendgrid: <%asm_preferences_raw_url%> => {{link.preferences}}
customerio: {% view_in_browser_url %} => {{link.view_in_browser}}
mailchimp: *|LIST:ADDRESSLINE|* => {{sender.address}}
"""


@stories(WITHOUT_CAVEATS)
def test_a_conversion_without_caveats(story):
    assert other_reasons(told(story)) == []


STORIES = """
# other names of links the sender and the year are read
mailchimp: *|HTML:LIST_ADDRESS_HTML|* => {{sender.address}}
mailchimp: *|list:company|* => {{sender.name}}
mailchimp: *|DATE:Y|* *|date:Y|* => {{today.year}} {{today.year}}
klaviyo: {% today '%Y' %} => {{today.year}}
hubspot: {{ year }} => {{today.year}}
hubspot: {{ unsubscribe_link_single }} => {{link.unsubscribe}}
activecampaign: %SENDER-INFO% => {{sender.address}}
activecampaign: %UNSUBSCRIBELINK%&ALL => {{link.unsubscribe_all}}
activecampaign: %UNSUBSCRIBELINK%&amp;ALL => {{link.unsubscribe_all}}
activecampaign: %UNSUBSCRIBELINK%&ALLOW => {{link.unsubscribe}}&ALLOW
sfmc: %%Member_Busname%% %%XTYEAR%% => {{sender.name}} {{today.year}}
onesignal: {{ x }} [unsubscribe_url] => {{recipient.x}} {{link.unsubscribe}}
# a code that shows something else than other ESPs has a caveat
activecampaign: %SENDER-INFO-SINGLELINE% => {{sender.address}}
  caveat: …shows the name…
activecampaign: %SENDER-INFO% => {{sender.address}}
  caveat: …shows the name…
brevo: {{ sender.name }} => {{sender.name}}
  caveat: …not of the company…
sendgrid: {{Sender_Name}} => {{sender.name}}
  caveat: …not of the company…
sendgrid: <%asm_group_unsubscribe_url%> => {{link.unsubscribe}}
  caveat: …a whole link…
sendgrid: <%asm_preferences_url%> => {{link.preferences}}
  caveat: …a whole link…
customerio: {% unsubscribe %} => {{link.unsubscribe}}
  caveat: …a whole link…
customerio: {% view_in_browser %} => {{link.view_in_browser}}
  caveat: …a whole link…
mailchimp: *|LIST:ADDRESS|* => {{sender.address}}
  caveat: …on several lines…
mailchimp: *|HTML:LIST_ADDRESS_HTML|* => {{sender.address}}
  caveat: …to an address book…
# an address with a name has a caveat in both directions
  caveat: …the name of the sender…
activecampaign to mailchimp: %SENDER-INFO-SINGLELINE% => *|LIST:ADDRESSLINE|*
mailchimp to activecampaign: *|LIST:ADDRESSLINE|* => %SENDER-INFO-SINGLELINE%
# percent tags in links are tags and percent encoded text is not
activecampaign: <a href="https://a.example/?n=%FIRSTNAME%&e=1">
  => <a href="https://a.example/?n={{recipient.first_name}}&e=1">
activecampaign: <a href="https://a.example/%DATE%">
  => <a href="https://a.example/{{recipient.date}}">
activecampaign: <a href="%FIRSTNAME%?q=%20EMAIL%20">
  => <a href="{{recipient.first_name}}?q=%20EMAIL%20">
# a tag that shows a whole link becomes one where text is
klaviyo to iterable: <p>{% unsubscribe %} {% web_view %}</p><a href="{% unsubscribe %}">No more</a>
  => <p><a href="{{unsubscribeUrl}}">Unsubscribe</a> <a href="
    {{viewInBrowserUrl}}">Web view</a></p><a href="{{unsubscribeUrl}}">No more</a>
  caveat 4: …
  caveat 22: …
  caveat 49: …
# a tag that shows a whole link is by hand in plain text
klaviyo to braze: {% unsubscribe %}
  by hand: …shows this link in plain text. Write its address, `{% unsubscribe_link %}`.
klaviyo to braze: {% unsubscribe 'here' %}
  by hand: …shows this link in plain text. Write its address, `{% unsubscribe_link %}`.
klaviyo to braze: {% web_view %}
  by hand: …shows this link in plain text. Write its address, `{% web_view_link %}`.
# other parts of the date of today stay by hand
mailchimp: *|DATE:y|* => by hand: … itself provides. Content has no code for this tag: …
mailchimp: *|DATE:d/m/y|* => by hand: … itself provides. Content has no code for this tag: …
mailchimp: *|DATE|* => by hand: … itself provides. Content has no code for this tag: …
klaviyo: {% today '%y' %} => by hand: … itself provides. Content has no code for this tag: …
klaviyo: {% today '%Y-%m-%d' as today %}
  by hand: … itself provides. Content has no code for this tag: …
klaviyo: {% current_day %} => by hand: … itself provides. Content has no code for this tag: …
# features of Mailchimp alone say what a person does
mailchimp to braze: <a href="*|forward|*">Forward</a>
  by hand: Only Mailchimp has this page to forward the email. Remove this link.
mailchimp to braze: *|LIST:DESCRIPTION|*
  by hand: Mailchimp shows what its audience says about itself. Write this text.
mailchimp to braze: *|IF:LIST|*a*|ELSE:|*b*|END:IF|*
  by hand: Only Mailchimp tests the audience. Keep the text for it, without these tags.
mailchimp to braze: <meta name="title" content="*|MC:SUBJECT|*">
  by hand: Mailchimp shows the subject of the email. Write this text.
# other code of campaigns stays by hand
mailchimp to braze: *|IF:ARCHIVE_PAGE|*a*|END:IF|*
  by hand: `ARCHIVE_PAGE` is a value that Mailchimp itself provides. Content has no code…
mailchimp to braze: <p>*|MC:SUBJECT|*</p>
  by hand: Mailchimp shows the subject of the email. Write this text.
"""


@stories(STORIES)
def test_a_conversion(story):
    told(story)


_SECONDARY = "Only secondary sources establish the code of Mailchimp for `{{sender.address}}`."


@pytest.mark.parametrize(
    ("esp", "code", "written", "reasons"),
    [
        ("mailchimp", "*|LIST:ADDRESSLINE|*", "*|LIST:ADDRESSLINE|*", {_SECONDARY}),
        (
            "mailchimp",
            "*|LIST:ADDRESS|*",
            "*|LIST:ADDRESSLINE|*",
            {_SECONDARY, "Mailchimp shows the address on several lines."},
        ),
        ("activecampaign", "%SENDER-INFO%", "%SENDER-INFO-SINGLELINE%", None),
    ],
)
def test_a_code_of_the_same_esp_has_the_caveats_that_its_usual_code_has_not(
    esp, code, written, reasons
):
    usual = {*convert(written, read=esp, write=esp).tags[0].reasons}

    converted = convert(code, read=esp, write=esp)

    assert converted.content == written
    assert {*converted.tags[0].reasons} == (usual if reasons is None else reasons)


def test_hubspots_link_to_unsubscribe_opens_its_page_of_preferences():
    page = "HubSpot opens the page of preferences, on which recipients can unsubscribe."
    link, all_mail = "{{ unsubscribe_link }}", "{{ unsubscribe_link_all }}"

    def converted(source: str, target: str) -> tuple[str, list[str]]:
        found = convert(source, read="hubspot", write=target)
        return found.content, [reason for tag in found.tags for reason in tag.reasons]

    assert converted(link, "portable") == ("{{link.unsubscribe}}", [page])
    assert converted(link, "mailchimp") == ("*|UNSUB|*", [page])
    assert converted("{{ unsubscribe_link_single }}", "mailchimp") == ("*|UNSUB|*", [])
    both = "{{link.preferences}} {{link.unsubscribe_all}}"
    assert converted(f"{link} {all_mail}", "portable") == (both, [])
    by_hand = f"{{% if f() %}}{all_mail}{{% endif %}}"
    assert converted(f"{by_hand}{link}", "portable")[0].endswith("{{link.preferences}}")
    for mention in ("unsubscribe_link_all", f"{{# {all_mail} #}}"):
        assert converted(f"{link}{mention}", "portable")[1] == [page]
    content, reasons = converted(f"{link} {all_mail}", "hubspot")
    assert content == f"{link} {all_mail}"
    assert page not in reasons


@pytest.mark.parametrize(
    ("target", "code"), [("mailchimp", "*|UNSUB|*"), ("klaviyo", "{% unsubscribe_link %}")]
)
def test_advice_for_another_esp_is_in_its_language(target, code):
    source = "{{ unsubscribe_link_all }} %%b%%"

    converted = convert(source, read="hubspot", write=target)

    ((_, reason),) = by_hand(converted)
    assert f"Write `{code}` instead." in reason
    assert converted.warnings
    assert not any("{{" in each.message for each in converted.warnings)


def test_code_for_the_editor_and_the_campaigns_of_the_source_is_dropped():
    source = (
        "<title>*|MC:SUBJECT|*</title>"
        '<td mc:edit="main" class="a" mc:hideable>*|IFNOT:ARCHIVE_PAGE|*<p>*|FNAME|*</p>*|END:IF|*'
        "<!--*|IF:MC_PREVIEW_TEXT|*-->*|MC_PREVIEW_TEXT|*<!--*|END:IF|*--></td> mc:edit='x' "
    )

    converted = convert(source, read="mailchimp", write="braze")

    assert converted.content == (
        "<title></title>"
        "<td class=\"a\"><p>{{${first_name} | escape}}</p><!----><!----></td> mc:edit='x' "
    )
    dropped = [each.text for each in converted.tags if each.outcome is Outcome.DROPPED]
    assert dropped == [
        *(
            "*|MC:SUBJECT|*",
            ' mc:edit="main"',
            " mc:hideable",
            "*|IFNOT:ARCHIVE_PAGE|*",
            "*|END:IF|*",
        ),
        *("*|IF:MC_PREVIEW_TEXT|*", "*|MC_PREVIEW_TEXT|*", "*|END:IF|*"),
    ]


DROPPED = """
# the preview text and the regions of Klaviyo
klaviyo to braze: <div data-klaviyo-region="true">{% render_variable preview_text %}</div>
  => <div></div>
# the badge of Mailchimp, and the titles of its archive
mailchimp to braze: a*|IF:REWARDS|* *|HTML:REWARDS|**|rewards|* *|END:IF|*b => a  b
mailchimp to braze: <meta property="og:title" content="*|MC:SUBJECT|*" /><title>*|MC:SUBJECT|*
    </title>
  => <meta property="og:title" content="" /><title></title>
"""


@stories(DROPPED)
def test_what_other_esps_do_not_need_is_dropped(story):
    assert {each.outcome for each in told(story).tags} == {Outcome.DROPPED}
