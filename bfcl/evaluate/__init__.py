"""Scoring candidate models on a published benchmark."""
