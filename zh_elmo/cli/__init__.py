"""Thin commands: parse, call one function of a room, print; nothing is computed here."""
