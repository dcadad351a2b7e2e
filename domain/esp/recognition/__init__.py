"""Recognition of template code: which dialects a tag is in, what it shows, and its names."""
