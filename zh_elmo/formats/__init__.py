"""Model files -> a biLM, and back."""
