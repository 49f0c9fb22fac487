"""The REST API of articles, images and releases, for readers and for the newsroom."""
