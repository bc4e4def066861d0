"""Releases for several communities, each derived from the next more precise one."""
