"""Files with one recipient per row: one module per format, and what the formats share."""
