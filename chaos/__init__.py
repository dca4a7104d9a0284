"""A seeded program that does to a fleet what happens to fleets, and checks the laws from outside.

`python -m chaos --seed 7 --seconds 600`; docs/reliability.md says what is checked and how to read it.
"""
