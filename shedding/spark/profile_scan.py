"""Rows per window and key of a dataset's visible rows, in one scan."""
