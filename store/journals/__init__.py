"""The journal and what is derived from it: hash chain, blocks, snapshots, tails, verification."""
