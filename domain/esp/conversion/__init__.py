"""Conversion: templates of ESPs are read as content, which is exported for other ESPs."""
