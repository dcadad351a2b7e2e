"""Strategies for names and defaults: ordinary ones, and ones that try to inject code."""

from __future__ import annotations

from hypothesis import strategies as st

from recipient_fields.domain.esp import Esp

DELIMITERS = r"""
    ' " \ ` { } {{ }} {% %} {# #} ${ %% %%[ ]%% %%= =%% % %/IF% %ELSE% *| |* | * ( ) [ ] < > & =
    . , ; : - _ $ @ # ! ?
"""
KEYWORDS = """
    if else end first last size length true false null nullable this NAME VARIABLE EXPRESSION
    DEFAULT SET default lookup insert customer. contact. person|
"""
FRAGMENTS = st.sampled_from(
    [
        *DELIMITERS.split(),
        *KEYWORDS.split(),
        *("Loyalty", "tier", "A", "B1", "9", "é", "Ö", "日本", "\U0001f680", "\u2019"),
        *(" ", "  ", "\t", "\n", "\u00a0", "\u200b", "\u2028", "\0", "\ud800"),
        *(", @x) v(@y", "' | x: '"),
    ]
)
HOSTILE = st.lists(FRAGMENTS, max_size=6).map("".join)
ANY_TEXT = HOSTILE | st.text(st.characters(codec=None), max_size=12)

WORDS = st.from_regex(r"[A-Za-z][A-Za-z0-9]{0,8}", fullmatch=True)
TITLES = st.lists(WORDS | st.sampled_from(["Größe", "日本", "№1"]), min_size=1, max_size=3)
SPACED = TITLES.map(" ".join)
SNAKE = st.from_regex(r"x[a-z0-9_]{0,30}", fullmatch=True)
CAPITALS = st.from_regex(r"X[A-Z0-9_]{0,9}", fullmatch=True)

ORDINARY_NAMES = {
    Esp("sfmc"): TITLES.map(" ".join).filter(lambda name: name[0].isalpha()),
    Esp("mailchimp"): CAPITALS,
    Esp("klaviyo"): SPACED | SNAKE.map("$".__add__),
    Esp("braze"): SPACED,
    Esp("customerio"): (SPACED | SNAKE | TITLES.map("-".join)).filter(lambda name: name != "size"),
    Esp("hubspot"): SNAKE,
    Esp("sendgrid"): SNAKE | SNAKE.map(str.upper),
    Esp("iterable"): TITLES.map(lambda words: " ".join(["x", *words]))
    | SNAKE
    | SNAKE.map("x.".__add__),
    Esp("brevo"): CAPITALS,
    Esp("activecampaign"): CAPITALS,
    Esp("onesignal"): SNAKE | SNAKE.map(str.upper),
}
"""Names that these ESPs allow."""

NAMES = {esp: ANY_TEXT | ordinary for esp, ordinary in ORDINARY_NAMES.items()}
ORDINARY_DEFAULTS = st.from_regex(
    r"[A-Za-z0-9é日!?.,;:()&-]([A-Za-z0-9 é日!?.,;:()&-]{0,20})", fullmatch=True
)
DEFAULTS = ANY_TEXT | ORDINARY_DEFAULTS | st.sampled_from(["0", "false", "False"])
