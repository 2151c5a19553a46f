"""Words to shards of word ids: sources, filters, building and reading a corpus."""
