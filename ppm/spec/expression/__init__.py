"""The predicate language: a closed subset of SQL, parsed once, compiled wherever it is needed."""
