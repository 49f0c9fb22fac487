"""A small news site with Wagtail and wagtail-cache, as their documentation sets them up."""
