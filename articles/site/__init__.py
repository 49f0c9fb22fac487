"""The readers' site: pages, feeds, sitemaps and image files."""
