"""Hostile texts: pieces of the grammars, repeated in each part of content and of other texts.

Code that searches a text again for each tag, name, quote or branch takes quadratic time for some
of them.
"""

from __future__ import annotations

from itertools import count, product

from attrs import frozen

from recipient_fields.domain.content import SystemValue
from recipient_fields.domain.content.filters import FilterName

LONGEST_TAG = 9_600
"""A tag in braces, and a code that a person wrote, have at most 10,000 characters."""


@frozen
class Shape:
    """A text of any length: `piece` again and again between `opening` and `closing`.

    Each `№` in the piece becomes another number, so that no two pieces are equal.
    """

    opening: str
    piece: str
    closing: str = ""

    @property
    def largest(self) -> int | None:
        """The maximum length, if the pieces are in one tag in braces."""
        is_in_tag = self.opening.startswith("{") and "}" not in self.opening
        return LONGEST_TAG if is_in_tag else None

    def __str__(self) -> str:
        """Return the shape with its piece once."""
        return f"{self.opening}[{self.piece[:60]}]*{self.closing}"

    def text(self, size: int) -> str:
        """Return a text of at most this length."""
        left = size - len(self.opening) - len(self.closing)
        if "№" not in self.piece:
            return self.opening + self.piece * (left // len(self.piece)) + self.closing
        parts: list[str] = []
        for number in count(1):
            part = self.piece.replace("№", str(number))
            left -= len(part)
            if left < 0:
                break
            parts.append(part)
        return self.opening + "".join(parts) + self.closing


def _split(texts: str) -> list[str]:
    """Return the texts, which blanks separate. In a text, `␣` is a blank, and `¶` a line end."""
    return [each.replace("␣", " ").replace("¶", "\n") for each in texts.split()]


FILLER = "Thank you for your order. " * 16
"""Text between tags: code that reads it once per tag takes time in proportion to both."""
BRANCH = f'{{{{else if recipient.tier="b"}}}}{FILLER}'

_CONTEXTS = _split(
    """
    … {{␣a␣…}} {{… {{{␣a␣…}}} {%␣a␣…%} {%… {%␣if␣…␣%} {%␣assign␣x␣=␣…␣%} {%␣for␣…␣%} {#␣…#} {#…
    {{#each␣…}} {{#if␣…}}{{/if}} {{!--␣…--}} %%…%% %%[␣…]%% %%[… %%=␣…=%% %%=… *|…|* *|… %…% [[…]]
    %IF␣…% {%␣raw␣%}…{%␣endraw␣%} {%␣comment␣%}…{%␣endcomment␣%} {{{{raw}}}}…{{{{/raw}}}}
    {{recipient.tier␣|␣…upper}} {{recipient.tier␣|␣default:␣"…"}} {{#if␣…recipient.tier}}a{{/if}}
    {{#if␣recipient.tier␣=␣"a"}}…{{/if}} {{#if␣recipient.tier␣=␣"a"}}b{{else}}…{{/if}}
    {{#if␣recipient.tier␣=␣"a"}}b{{else␣if␣…}}c{{/if}}
    <!doctype␣html><a␣href='https://a.example/?b=…'>c</a></html> <script>…</script> <style>…
    <!--…--> <table><tr>…</tr></table> <!--[if␣mso]>…<![endif]--> <template>…</template> <a␣b="…">
    <p␣style='a:␣url(…)'> <mjml><mj-body>…</mj-body></mjml>
    """
)
"""Where pieces are in content."""
_NAMES = """
    a␣ a№␣ x.y␣ x№.y␣ .b [a] ['a№'] ["a№"]. this.a№␣ @a№␣ a- ${a}␣ ${a№}␣ b.${a№}␣ [a№]␣ 1␣ 0.5.
    contact.a№␣ customer.a№␣ person.a№␣ event.a№␣ custom_attribute.${a№}␣ \u00e0\u0316 \u0301\u0316
    """
_OPERATORS = """
    | || : , = == a=b␣ < > ! ~ - -- & &nbsp; &amp; and␣ or␣ not␣ in␣ is␣ if␣ for␣ as␣|a№␣b№|␣ ( )
    (( )( a№␣as␣b№␣
    """
_CALLS = """
    (upper␣a)␣ (upper№␣a)␣ f№(a)␣ v( v(a v(a)␣ f( |upper |f№ |f№:a␣ |lookup:'a№' |url␣
    |default:"a№" AttributeValue("a№")␣ IIf(Empty(a),1, /* */ SET␣@a№␣=␣1␣
    """
_QUOTES = """ " ' "a"␣ 'a№'␣ \\ \\" \\\\{{ \u201c \u201ca№\u201d␣ ` """
_DELIMITERS = """
    { } {{ }} {{{ }}} {% %} {# #} {{# {{/ {{! {{!-- --}} {{~ ~}} \\{{ %% %%[ ]%% %%= =%% *| |* [[ ]]
    [% %] <% %> % %41 %IF␣ http:// :// {{{{ }}}}
    """
_TAGS = """
    {{a}} {{a№}} {{␣x.y№␣}} {{tier}} {{␣person|lookup:'a№'␣}} {{${a№}}} {%␣if␣a№␣%} {%␣endif␣%}
    {%␣else␣%} {%␣elsif␣a№␣%} {%␣case␣a№␣%} {%␣when␣a№␣%} {%␣assign␣a№␣=␣1␣%} {%␣for␣a№␣in␣b␣%}
    {%␣endfor␣%} {%␣raw␣%} {%␣endraw␣%} {%␣comment␣%} {{#each␣a№}} {{/each}} {{#if␣a}}
    {{#if␣a№}}b{{/if}} {{else}} {{^}} {{>a№}} %%a№%% %%=v(@a№)=%% %%[␣SET␣@a№␣=␣1␣]%%
    %%[IF␣@a№␣THEN]%% %%[ENDIF]%% *|A№|* *|IF:A№|* *|ELSE:|* *|END:IF|* *|IF:A|*b*|END:IF|* %A№%
    [[a№]] [%a%] %IF␣$A№=1%b%/IF% <%asm_group_unsubscribe_url%> [unsubscribe]
    """
_REFERENCES = """
    {{recipient.tier {{recipient.tier}} {{recipient.tier}}a␣ {{recipient.a№}} {recipient.tier}␣
    {{recipient.tier|expression}} {{recipient.tier|default:"№"}} {{recipient.tier|url|default:"№"}}
    {{recipient.tier|truncate:№|url|upper}} {{link.a№}} {{#if␣recipient.a№}}
    {{#if␣recipient.tier␣is␣set}}a {{#if␣recipient.tier="№"}}a{{/if}} {{else␣if␣recipient.tier="№"}}
    {{#if␣recipient.tier␣contains␣"№"}}a{{else}}b{{/if}} {{else␣if␣recipient.visits␣is␣set}} {{/if}}
    recipient.tier="№"␣or␣ recipient.tier␣is␣set␣and␣ recipient.tier␣in␣( not␣recipient.tier␣and␣
    (recipient.visits␣>␣№␣or␣ {{!␣a␣}} {{event.a№.b[0]}} {{event.a["b"]|upper}} {{loop.number}}
    {{#each␣event.a№␣as␣b№}} {{#each␣event.a␣as␣b}}{{b.c}}{{/each}} event.a№.b␣=␣1␣or␣
    """
_HTML = """
    < <a␣ <a␣href=" href= href␣ <style> <script> <!-- --> <table> <td> </td> <p>a</p> ? ?a= ¶ ␣
    ␣␣¶ x <a␣b=' <a␣b№=c <!--[if␣ <!--[if␣mso]> <![endif]--> <! <template> </template> <mj-a№>
    </mj-a№> <mj-raw> </mj-raw> url( :// /* //
    """
_PIECES = [
    *_split(_NAMES + _OPERATORS + _CALLS + _QUOTES + _DELIMITERS + _TAGS + _REFERENCES + _HTML),
    *(f"{{{{recipient.tier | {each.value}}}}}" for each in FilterName),
    *(f"{{{{{each.value}}}}}" for each in SystemValue),
    FILLER,
    BRANCH,
]
CONTENT_SHAPES = [
    Shape(opening, piece, closing)
    for (opening, _, closing), piece in product(
        (context.partition("…") for context in _CONTEXTS), _PIECES
    )
]

_TEXTS = """
    a a№ a␣ ␣ \t ¶ \r¶ a, a№, , ; : = a=b, a=b;␣ " ' "a", "a№", "" \\ \\" \\\\ ( ) () [ ] [] { } {}
    {"a": "a№":1, 1 1, 0.1, 1e9, - -␣ -␣a¶ a:␣ a№:␣b¶ ?␣ # #␣ &a№␣ *a№␣ !a␣ |¶ >¶ % %41 %zz &
    a№=b& &amp; + / // ../ ? @ a@ a. .. */*, a/b;q=0.1, W/"a№",␣ W/" Bearer␣ 2026-11-20, 2026- é ß
    İ a\u0301\u0316 \u0301\u0316 ﬃ \u200b 👩\u200d not␣ tier␣=␣ tier="a№"␣or␣ tier␣in␣(
    tier␣contains␣ (tier␣is␣set␣and␣ < << {{a}} {{ %%[ *| {% <a␣ <!-- tier tier№¶
    tier;visits№¶ a№;b¶
    """
TEXT_SHAPES = [
    Shape(opening, piece, closing)
    for piece in _split(_TEXTS)
    for opening, closing in (("", ""), ('"', '"'), ("tier\n", "\n"))
]
"""Other texts: JSON, YAML, CSV, conditions, forms and what HTTP has in headers and queries."""
