"""JSON: strict parsing, equality of values, and the encoding of events, commands and states."""
