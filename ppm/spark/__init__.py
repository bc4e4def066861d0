"""The stream: the only room that knows Spark, and it holds no rule of its own."""
