"""Purpose: the REST and GraphQL doors of the stand-in, one file for each group of resources."""
