"""What cuts a sentence into words, one module for each library or rule; `zh_elmo.text.segment` chooses among them."""
