"""The response cache for readers' pages, feeds and API: valid until the clock or a commit changes what they show.

`views` caches responses, `ttl` computes when they expire, `tags` names what they show, `versions` and `invalidate`
drop them when that changes, `response` sends the same to browsers over HTTP, and `cdn` purges proxies. See
docs/caches.md.
"""

from articles.cache.backend import CacheFailed
from articles.cache.cdn import purge_again, run_purge
from articles.cache.invalidate import purge_articles, purge_tags
from articles.cache.response import Answer, name_tags, set_cache_headers
from articles.cache.tags import NEWS, SITE, article_tag, author_tag, channel_tag, tagged, topic_tag
from articles.cache.views import ADDRESSES, LARGEST_PAGE, WrongSlug, cached, kept

__all__ = [
    "ADDRESSES",
    "Answer",
    "CacheFailed",
    "LARGEST_PAGE",
    "NEWS",
    "SITE",
    "WrongSlug",
    "article_tag",
    "author_tag",
    "cached",
    "channel_tag",
    "kept",
    "name_tags",
    "purge_again",
    "purge_articles",
    "purge_tags",
    "run_purge",
    "set_cache_headers",
    "tagged",
    "topic_tag",
]
