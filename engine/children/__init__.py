"""Child processes: started, read, stopped and reaped."""
