"""Who may write: lock, lease, standby engines, identities of processes."""
