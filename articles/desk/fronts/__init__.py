"""Screens of fronts: which there are, and the editor of their versions."""
