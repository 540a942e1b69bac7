"""Failure policies, one per file: what happens when an attempt failed. How they follow each other: `chain`."""
