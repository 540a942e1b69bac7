"""Records that people write: specs of agents and models, options, limits and policies, with their bounds."""
