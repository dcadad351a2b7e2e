"""The page that checks a list of recipients."""
