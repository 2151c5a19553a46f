"""Arms x treebanks x seeds -> results: jobs in parallel, tables, significance, report."""
