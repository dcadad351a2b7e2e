"""The HTTP service: a Falcon application hosted by waitress."""
