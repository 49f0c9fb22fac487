"""Every screen there is, looked at by a real browser: for whoever cannot see them well, and for the documentation."""
