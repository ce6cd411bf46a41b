"""Purpose: two pull requests played in front of a person: stand-in and service on loopback."""
