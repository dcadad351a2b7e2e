"""Salesforce Marketing Cloud: AMPscript and personalization strings. Case does not matter."""

from __future__ import annotations

from ..vocabulary import Syntax, Vocabulary, words

VOCABULARY = Vocabulary(
    syntax=Syntax.AMPSCRIPT,
    # The data bindings of Journey Builder, with braces: `{{Contact.Attribute.SET.NAME}}`.
    events=words("Contact Context Event Interaction InteractionDefaults"),
    system=words(
        "_carrierid _channel _contactid _contactkey _countrycode _createdby _createddate"
        " _datasourcename _emailid _emailname _impressionregionid _impressionregionname"
        " _ishonordst _istestsend _jobsubscriberbatchid _listname _messagecontext"
        " _messagetypepreference _mobilenumber _modifiedby _modifieddate _preheader _priority"
        " _replycontent _sendname _sourceobjectid _subscriberkey _utcoffset additionalinfo_*"
        " advanced_* dma_* double_opt_in_url emailaddr emailname_ ftaf_url jobid linkname listid"
        " listsubid member_* memberid microsite_base_url microsite_url mobilenumber"
        " profile_center_url replyemailaddress replyname subscriberid subscription_center_url"
        " unsub_center_url unsubscribe_url userid usersendername view_email_url xtday"
        " xtdayofweek xtlongdate xtmonth xtmonthnumeric xtshortdate xttime xtyear"
    ),
    common=words("Contact Context Event Interaction unsubscribe_url userid"),
    local=words(
        "and do downto else elseif endif false for if next not null or set then to true var"
    ),
)
