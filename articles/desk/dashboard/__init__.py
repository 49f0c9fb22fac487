"""The dashboard: upcoming and recent articles, attention lists, and the state of the publishing service."""
