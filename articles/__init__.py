"""The CMS: articles, their review, publication and distribution, and the readers' site; see docs/architecture.md."""
