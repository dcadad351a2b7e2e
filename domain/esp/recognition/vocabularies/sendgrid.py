"""SendGrid: Handlebars. The caller of the API chooses the names of values."""

from __future__ import annotations

from ..vocabulary import Syntax, Vocabulary, words
from . import handlebars

VOCABULARY = Vocabulary(
    syntax=Syntax.HANDLEBARS,
    any_name=True,
    field_pattern=r"[A-Za-z_]\w*",
    system=words(
        "Sender_Address Sender_City Sender_Country Sender_Name Sender_State Sender_Zip Weblink"
        " weblink asm_global_unsubscribe_raw_url asm_global_unsubscribe_url"
        " asm_group_unsubscribe_raw_url asm_group_unsubscribe_url asm_preferences_raw_url"
        " asm_preferences_url unsubscribe unsubscribe_preferences"
    ),
    # Public templates for Iterable use these helpers, too.
    common=words("formatDate length unsubscribe_preferences"),
    local=handlebars.LOCAL | words("root"),
    tags=handlebars.HELPERS
    | words("equals formatDate greaterThan insert length lessThan notEquals"),
)
