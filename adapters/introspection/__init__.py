"""Access tokens of an OAuth issuer as API keys, by token introspection (RFC 7662)."""

from recipient_fields.application.extras import requires_extra

with requires_extra("introspection", "urllib3"):
    from .issuer import Issuer, basic, bearer
    from .rules import TokenRules
    from .settings import introspection_at
    from .validator import IntrospectionKeyValidator

__all__ = [
    "IntrospectionKeyValidator",
    "Issuer",
    "TokenRules",
    "basic",
    "bearer",
    "introspection_at",
]
