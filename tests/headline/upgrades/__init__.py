"""Later versions of the test app, each a package for the setting MIGRATION_MODULES."""
