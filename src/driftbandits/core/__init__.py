"""How policies run: compiling, packing, entry points, checks of input, files, named randomness."""
