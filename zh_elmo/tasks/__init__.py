"""Tasks beyond Universal Dependencies: sequence labelling."""
