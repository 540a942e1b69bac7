"""Reading the files of teams: the feed of the journal, past moments, checkpoints, searches, comparisons."""
