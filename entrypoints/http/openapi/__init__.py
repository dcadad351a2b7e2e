"""The published contract: the OpenAPI document, and the reference page that shows it."""
