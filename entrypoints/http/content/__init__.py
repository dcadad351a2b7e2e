"""The resources for content and conditions."""
