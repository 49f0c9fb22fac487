"""Django looks for screens here; they live in `articles.desk`."""

from articles.desk import article, audit, channel, material, notices, people, preferences, queue, release, word

__all__ = ["article", "audit", "channel", "material", "notices", "people", "preferences", "queue", "release", "word"]
