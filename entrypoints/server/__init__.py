"""The HTTP server: waitress with strict parsing, limits, load shedding and a graceful shutdown."""
