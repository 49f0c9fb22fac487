"""The newsroom's admin ("desk"): a package or module for each subject."""
