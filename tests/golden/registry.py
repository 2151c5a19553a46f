"""Every golden file: compared, or an input with a role."""

from __future__ import annotations

from golden import bilm_tf, many_langs, programs, readers

GROUPS = {
    "bilm_tf": bilm_tf.COMPARISONS,
    "many_langs": many_langs.COMPARISONS,
    "programs": programs.COMPARISONS,
    "readers": readers.COMPARISONS,
}
COMPARISONS = [comparison for group in GROUPS.values() for comparison in group]

# What is no output of a program and is read on the way to one, by the name of the file.
INPUTS = {
    "README.md": "says how the sets were made",
    "sentences.json": "three batches of sentences",
    "text.txt": "lines for the command lines of bilm-tf and AllenNLP",
    "text_tab.txt": "lines for the command line of ELMoForManyLangs",
    "options.json": "sizes of a bilm-tf model",
    "vocab.txt": "words of a bilm-tf model",
    "config.json": "says where an ELMoForManyLangs model has its sizes",
    "cnn_sample.json": "sizes of an ELMoForManyLangs model",
    "char.dic": "characters of an ELMoForManyLangs model",
    "word.dic": "words of an ELMoForManyLangs model",
    "checkpoint": "says which checkpoint is the newest",
    "model.ckpt-100.index": "variables of a checkpoint, compared by variables.npz",
    "model.ckpt-100.data-00000-of-00001": "their numbers",
    "variables.index": "variables of the hub folder, compared by bilm_skip/weights.hdf5 and names.json",
    "variables.data-00000-of-00001": "their numbers",
}
