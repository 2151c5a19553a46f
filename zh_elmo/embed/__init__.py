"""A biLM -> vectors: embedder, layer mix, torch module, store on disk."""
