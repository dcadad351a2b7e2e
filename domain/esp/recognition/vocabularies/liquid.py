"""The words of Liquid, which Braze and Customer.io share."""

from __future__ import annotations

from ..vocabulary import words

TAGS = words(
    "assign break capture case comment continue cycle decrement echo else elsif endcapture endcase"
    " endcomment endfor endif endraw endtablerow endunless for if ifchanged endifchanged increment"
    " liquid raw render include tablerow unless when #"
)
FILTERS = words(
    "abs append at_least at_most base64_decode base64_encode base64_url_safe_decode"
    " base64_url_safe_encode capitalize ceil compact concat date default divided_by downcase escape"
    " escape_once find find_index first floor has join last lstrip map minus modulo newline_to_br"
    " plus prepend reject remove remove_first remove_last replace replace_first replace_last"
    " reverse round rstrip size slice sort sort_natural split strip strip_html strip_newlines sum"
    " times truncate truncatewords uniq upcase url_decode url_encode where"
)
LOCAL = words(
    "and blank by contains cols empty false forloop in limit nil not null offset or range reversed"
    " tablerowloop true with"
)
