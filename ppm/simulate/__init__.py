"""Makes worlds to try policies on: a day of Marvin in Oslo, and synthetic streams."""
