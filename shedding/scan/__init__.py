"""How rows are read and summed: the same bits in any order, on any number of cores."""
