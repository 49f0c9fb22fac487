"""Every screen there is, opened in a real browser: for accessibility and for the documentation."""
