"""One module or package per technology. They don't import each other."""
