"""Carries the program `recap`; `python -m recap_bench` starts it."""
