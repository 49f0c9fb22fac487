"""Django looks for screens here; they live in `articles.desk`."""

from articles.desk import article, audit, channel, notices, people, preferences, queue, release, word

__all__ = ["article", "audit", "channel", "notices", "people", "preferences", "queue", "release", "word"]
