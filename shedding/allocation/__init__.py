"""A budget shared among strata: an allocation problem is *strata + curve + budget*, its answer a rate a stratum.

    concept        what is known of a slot's keys before a row is read
    strata         of it what a budget is spent on: rows, their cost, their weight
    goal           which error counts: the factory Concept -> Curve
    curve          the error of a stratum as a function of its rows, and its inverse
    problem        strata, curve and budget together: shares, floors, rates, and what rates cost and lose
    width_curve    the planned half-width of an interval as such a curve
    admission      who is left out where each needs so many rows to be of any use
    pool           several queries with one budget for the union of their samples
    water_filling  the optimum of reciprocal curves; `hull` of any other; `clustering` with few rates

NumPy only, and nothing but its arguments: the policies (`shedding.policies`) choose among these.
"""
