"""Base classes of the core's records, and small values that records share."""
