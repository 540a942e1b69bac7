"""Finds agents outside a team: in the catalogue, behind tool servers, in documents, or made for the need."""
