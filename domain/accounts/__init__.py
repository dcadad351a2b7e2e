"""Organizations, their API keys, and the administrators of the console."""
