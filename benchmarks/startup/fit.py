"""Least squares in plain Python: finds the coefficients of columns that fit measured values best."""


def least_squares(columns, values):
    """The coefficients that minimise the sum of squared relative residuals of `values`, so that small cases
    count as much as large ones. `columns` has one list for each coefficient, as long as `values`."""
    weighted = [[x / v for x, v in zip(column, values)] for column in columns]
    size = len(columns)
    left = [[sum(a * b for a, b in zip(weighted[i], weighted[j])) for j in range(size)] for i in range(size)]
    right = [sum(weighted[i]) for i in range(size)]
    return solve(left, right)


def solve(left, right):
    """Solves a small system of linear equations by Gaussian elimination with pivots."""
    size = len(right)
    rows = [[*left[i], right[i]] for i in range(size)]
    for i in range(size):
        pivot = max(range(i, size), key=lambda k: abs(rows[k][i]))
        rows[i], rows[pivot] = rows[pivot], rows[i]
        if abs(rows[i][i]) < 1e-300:
            raise ValueError("these cases do not tell the coefficients apart")
        for k in range(i + 1, size):
            factor = rows[k][i] / rows[i][i]
            rows[k] = [a - factor * b for a, b in zip(rows[k], rows[i])]
    found = [0.0] * size
    for i in reversed(range(size)):
        found[i] = (rows[i][size] - sum(rows[i][k] * found[k] for k in range(i + 1, size))) / rows[i][i]
    return found
