"""What drives the core: the HTTP service, the console, the command line, the composition root."""
