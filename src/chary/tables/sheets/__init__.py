"""A table in, a sheet of chosen rows for a person to label out; that sheet, filled in, back to rows and labels."""
