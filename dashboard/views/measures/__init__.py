"""Figures over time: activity, meters, metrics, progress, queues, the time bar. Pure."""
