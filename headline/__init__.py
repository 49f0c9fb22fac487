"""The project: settings, URLs, health, metrics, and what all APIs share."""
