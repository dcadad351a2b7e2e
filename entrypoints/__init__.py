"""What drives the core: the HTTP service, the command line, and the composition root."""
