"""Upgrades from earlier versions, whose source is in the history of the repository; run by `make upgrades`."""
