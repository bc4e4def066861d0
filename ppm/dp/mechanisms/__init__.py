"""One mechanism a file: integer tables on 64-bit words, each with its certificate."""
