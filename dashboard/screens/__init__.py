"""One file for each screen and dialog, with its `.tcss` beside it."""
