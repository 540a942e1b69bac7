"""Runtimes: they execute agents. One file each, one interface."""
