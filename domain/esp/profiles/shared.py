"""What several profiles say with the same words, and parts that several of them have."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from ...conditions import Operator
from ...content import WarningCode
from ...content.filters import DATE_PARTS, FilterName
from ..languages.conditions import Atom, Caveat, Feature
from .profile import FilterRefusal

# Sources

SKILLS = "github.com/email-love/esp-skills/blob/main/skills"

GUIDES = "the guides of email-love/esp-skills, which restate the vendor's pages"

THIRD_PARTY = "A third party's guide to {}, email-love/esp-skills"

# Conditions

NO_CONTAINS = "{title} has no test for a part of a text."

_NO_DATES = "Comparisons of dates are not supported yet for {title}: "

NO_INSTANTS = (
    "Comparisons of date-times are not supported yet for {title}: the time zone in which it reads"
    " an instant is not established."
)


def without_dates(reason: str) -> Mapping[Feature, str]:
    """Return the refusals of a language that compares neither dates nor instants."""
    return dict.fromkeys((Feature.DATE_COMPARISON, Feature.INSTANT_COMPARISON), _NO_DATES + reason)


IS_TRUE = Atom("{operand}", "{operand} == false")
TEXT_BOOLEANS = ('"false"', '"true"')

IS_TRUE_TEXT = Atom('{operand} == "true"', '{operand} != "true"')

ORDER_WITH_OPPOSITES = {
    Operator.LESS: Atom("{operand} < {value}", "{operand} >= {value}"),
    Operator.AT_MOST: Atom("{operand} <= {value}", "{operand} > {value}"),
    Operator.GREATER: Atom("{operand} > {value}", "{operand} <= {value}"),
    Operator.AT_LEAST: Atom("{operand} >= {value}", "{operand} < {value}"),
}
"""The order in languages that have no `not`, or whose `not` negates only the first operand."""

NO_BOOLEANS = Caveat(
    WarningCode.NO_BOOLEAN_FIELDS,
    "{title} has no boolean fields. Store the texts true and false: the code compares with them.",
)

SECONDARY_ORDER = Caveat(
    WarningCode.SECONDARY_SOURCES,
    "Only secondary sources establish that {title} orders numbers.",
)

# Links and the sender

NOT_THE_COMPANY = "It is the name of the sender, not of the company."

WHOLE_LINK = (
    "{} can show a whole link with a text here. Write the link around this address, unless there is"
    " one."
)

# Filters


def date_parts(codes: str) -> Mapping[str, str]:
    """Return the codes of all parts of formats of dates, in the order of `DATE_PARTS`."""
    return dict(zip(DATE_PARTS, codes.split(), strict=True))


def refused(names: Iterable[FilterName], refusal: FilterRefusal) -> dict[FilterName, FilterRefusal]:
    """Return the refusal of several filters."""
    return dict.fromkeys(names, refusal)


JAVA_DATES = date_parts("dd d MM M MMM MMMM yy yyyy EEE EEEE")

INSTANTS = (
    "No source establishes the time zone in which {title} shows an instant that is stored with"
    " another one than UTC, such as 2026-11-20T00:30:00+02:00."
)

UNKNOWN_LETTERS = (
    "No source establishes what {title} shows for other letters than A to Z, such as é or ß."
)

AFTER_WHITE_SPACE = (
    "{title} writes a capital only after white space: jean-luc becomes Jean-luc. It does not"
    " change ß."
)

UNKNOWN_WORDS = (
    "No source establishes what {title} shows in words with other characters than A to Z, such as"
    " jean-luc, o'neil or élan."
)

# HTML in values, and text next to code

NOT_ESTABLISHED = (
    "No source establishes whether {} escapes HTML in values. A value with < or & can spoil the"
    " email, or show entities."
)


def keeping(name: str) -> str:
    """Return what keeps text in the part `{% NAME %}…{% endNAME %}`."""
    return f"Write it between `{{% {name} %}}` and `{{% end{name} %}}`."
