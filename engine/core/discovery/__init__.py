"""Finds agents for a request by words, without a model; queued tasks get theirs from `scheduler.balancing`."""
