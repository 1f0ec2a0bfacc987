"""Checks before a campaign, by what they look at: texts, data, host. Each yields one sentence a problem."""
