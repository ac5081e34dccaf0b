"""A provider on loopback that plays scripts: every way an answer, or an error, may come."""
