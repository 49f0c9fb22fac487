"""The newsroom that a newcomer finds: a paper of the invented harbour city of Lanhai, in English and Chinese."""
