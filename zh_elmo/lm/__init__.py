"""Shards of word ids -> a character-aware bidirectional language model."""
