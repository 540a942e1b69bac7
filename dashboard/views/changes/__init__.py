"""Changes: previews, outcomes, differences, and the targets of actions. Pure."""
