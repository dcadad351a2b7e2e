"""Sign-in, and the pages of API keys and administrators."""
