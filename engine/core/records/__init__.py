"""What every record of the core is made of, and small values that records share."""
