"""The calls of programs that people's code was written for, over models of zh_elmo."""
