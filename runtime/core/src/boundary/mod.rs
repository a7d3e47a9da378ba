//! The file boundary: the only way from a path a model wrote to a file.
