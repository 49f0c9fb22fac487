"""Expensive requests of strangers and of an author, at a web server that readers use: `make attacks`."""
