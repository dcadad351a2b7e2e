"""The use cases of organizations, API keys and administrators."""
