"""The words of Django's template language, which Klaviyo and Brevo follow."""

from __future__ import annotations

from ..vocabulary import words

TAGS = words(
    "autoescape block comment cycle debug elif else empty endautoescape endblock endcomment"
    " endfilter endfor endif endifchanged endspaceless endverbatim endwith extends filter firstof"
    " for if ifchanged include load lorem now regroup resetcycle spaceless templatetag verbatim"
    " widthratio with"
)
FILTERS = words(
    "add addslashes capfirst center cut date default default_if_none dictsort dictsortreversed"
    " divisibleby escape escapejs escapeseq filesizeformat first floatformat force_escape"
    " get_digit iriencode join json_script last length length_is linebreaks linebreaksbr"
    " linenumbers ljust lower make_list phone2numeric pluralize pprint random rjust safe safeseq"
    " slice slugify stringformat striptags time timesince timeuntil title truncatechars"
    " truncatechars_html truncatewords truncatewords_html unordered_list upper urlencode urlize"
    " urlizetrunc wordcount wordwrap yesno"
)
LOCAL = words("and as block by false False forloop in is none None not off on or silent true True")
