"""The state document of an archive: tables of entities, ids, and import."""
