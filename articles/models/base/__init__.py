"""Mixins, signals and query helpers that the models share."""
