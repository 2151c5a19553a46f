"""Treebanks: reading, scoring, slices by OOV, a tagger and a parser."""
