"""Purpose: the reference pull request played in front of a person: stand-in and service on loopback, one story."""
