# SPDX-License-Identifier: MIT
"""What is recorded happened, and what happened is recorded.

The records of an instant are put together: for each variable the value before the first and after the last record that
changed it, each taking over where the one before it ended. The rows before and after the instant must show just that,
and the other way round: where these rows differ in a state or a discrete variable there is a record. Between instants
discrete variables keep their values.
"""
import collections

ROUNDING = 2.0 ** -50  # of the largest value that a variable has in the run

def instants(run):
    """Lists of the records that were made together, those of the start left out: the first row comes after it."""
    groups = []
    for record in run.records:
        if record["n"] == 0 or not groups:
            groups.append([])
        groups[-1].append(record)
    start = run.rows[0][0] if run.rows else None
    return [g for g in groups if g[0]["t"] != start]


def net_changes(group):
    """({name: (before, after)}, what is wrong with the sequence or None)"""
    net = {}
    for record in group:
        changed = record.get("changed") or {}
        if record["class"] == "mythical" and changed:
            return net, f"a mythical record at {record['t']!r} changes {changed}"
        for name, (before, after) in changed.items():
            if name in net and net[name][1] != before:
                return net, (f"at {record['t']!r} {name} goes to {net[name][1]!r}, but the next record "
                             f"has {before!r} before it")
            net[name] = (net[name][0] if name in net else before, after)
    return net, None


def contradiction(run, kept, discrete):
    """First contradiction between rows and records, as text, or None.

    kept: columns that only records may change within an instant (states and discrete variables).
    """
    at, last = 0, len(run.rows)
    columns = {name: i for i, name in enumerate(run.columns)}
    groups = instants(run)
    times = collections.Counter(g[0]["t"] for g in groups)
    held = {}
    sizes = {name: max((abs(row[i]) for row in run.rows if row[i] is not None), default=0.0)
             for name, i in columns.items() if name in kept}
    for group in groups:
        t = group[0]["t"]
        net, wrong = net_changes(group)
        if wrong:
            return wrong
        while at < last and run.rows[at][0] < t:
            wrong = holds(run.rows[at], columns, discrete, held)
            if wrong:
                return wrong
            at += 1
        rows = []
        while at < last and run.rows[at][0] == t:
            rows.append(run.rows[at])
            at += 1
        if len(rows) > 2 * times[t]:
            return f"{len(rows)} rows at {t!r}"
        wrong = judge(t, rows, net, columns, kept, at == last, sizes)
        if wrong:
            return wrong
        held.update({name: rows[-1][columns[name]] for name in discrete if rows})
    for row in run.rows[at:]:
        wrong = holds(row, columns, discrete, held)
        if wrong:
            return wrong
    return None


def judge(t, rows, net, columns, kept, end, sizes):
    if len(rows) < 2:
        moved = {n: p for n, p in net.items() if n in columns and p[0] != p[1]}
        if moved and not end and rows:
            return f"at {t!r} {sorted(moved)} is recorded as changed, but there is no row before and after"
        return None
    before, after = rows[0], rows[-1]
    for name, (a, b) in net.items():
        shown = (before[columns[name]], after[columns[name]]) if name in columns else (None, None)
        if any(row is not None and row != value for row, value in zip(shown, (a, b))):  # None: undetermined
            return (f"at {t!r} {name} is recorded as {a!r} -> {b!r}, the rows have "
                    f"{before[columns[name]]!r} -> {after[columns[name]]!r}")
    for name in kept:
        a, b = before[columns[name]], after[columns[name]]
        # where a mode is entered its constraints are met exactly: that corrects rounding, and is no change
        if a is not None and b is not None and abs(a - b) > ROUNDING * sizes[name] and name not in net:
            return f"at {t!r} {name} goes from {a!r} to {b!r} without a record"
    return None


def holds(row, columns, discrete, held):
    """Discrete variables keep what the last instant left them at."""
    for name in discrete:
        value = row[columns[name]]
        if name in held and held[name] != value and value is not None:
            return f"at {row[0]!r} {name} is {value!r}, but nothing has changed it from {held[name]!r}"
        held[name] = value
    return None
