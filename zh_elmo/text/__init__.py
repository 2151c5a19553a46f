"""Characters to words with offsets: normalisation, script, sentences, segmentation."""
