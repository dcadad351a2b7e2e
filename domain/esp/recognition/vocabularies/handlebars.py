"""The words of Handlebars, which SendGrid and Iterable share."""

from __future__ import annotations

from ..vocabulary import words

HELPERS = words("and each else if or unless")
LOCAL = words("as else false null this true undefined")
