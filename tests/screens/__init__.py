"""Tests of every page in a browser: accessibility, content security, translation and screenshots."""
