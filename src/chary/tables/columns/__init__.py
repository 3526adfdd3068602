"""The cells of one column in; what it was taken for, and the numbers made of it, out: a file for each kind."""
