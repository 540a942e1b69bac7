"""A team's state on its way to another database: its document, what is exported, and what may be imported."""
