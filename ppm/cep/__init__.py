"""What happened: patterns over columns of events, with no notion of privacy or Spark."""
