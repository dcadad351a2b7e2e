"""The use cases of content and of its conditions."""
