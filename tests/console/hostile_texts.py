"""Texts that break careless pages."""

HOSTILE = {
    "script": "<script>alert(1)</script>",
    "attribute": '"><img src=x onerror=alert(1)>',
    "single quote": "'><svg onload=alert(1)>",
    "template": "{{7*7}}{% raw %}${7*7}#{7*7}",
    "entity": "&lt;b&gt;&amp;&#60;",
    "end of a tag": "</title></textarea></script><script>alert(1)</script>",
    "comment": "<!--",
    "right to left": "\u202e\u2067gnirts\u200f شحن",
    "zero width": "a\u200bb\u2060c\ufeffd\u00ad",
    "emoji": "👩‍🚀" * 20,
    "long": "W" * 255,
    "combining marks": "Z" + "\u0301" * 100,
}
