"""What builds the service: settings, selection of adapters, composition, host, log."""
