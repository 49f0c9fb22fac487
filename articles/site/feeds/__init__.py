"""Feeds: the newest articles of the site, a channel, a tag or an author, as RSS 2.0, Atom and JSON Feed."""
