"""The project: settings, URLs, health, metrics, and what all APIs share."""

__version__ = "0.1.0"
