"""Which item sets are frequent? Transactions kept whole, as bitmaps of items; NumPy only."""
