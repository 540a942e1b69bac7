"""The files of a team: journal, inbox, snapshots, lease and live output."""
