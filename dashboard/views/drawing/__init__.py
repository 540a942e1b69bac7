"""Drawing with characters: lines, rows, sections, canvas, plots, prose, values. Pure."""
