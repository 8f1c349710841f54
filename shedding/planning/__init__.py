"""What a slot knows and decides before a row is read: audits, priors, rates."""
