"""The use cases of fields beside the API's, and the documents of fields."""
