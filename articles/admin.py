"""Django looks for screens here; they live in `articles.desk`."""

from articles.desk import article, channel, people

__all__ = ["article", "channel", "people"]
