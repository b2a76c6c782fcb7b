"""Longest chains in a graph of dependencies."""

from collections import defaultdict

from borgtrace.kernels.arrays import Index


def depths(after: Index, before: Index) -> dict[int, int]:
    """Return the length of the longest chain that leads to each node.

    Parameters
    ----------
    after, before
        Edges: ``after[i]`` waits for ``before[i]``; shape (n,).

    Returns
    -------
    dict
        Node to depth; 0 for a node that waits for none, and for what is in, or behind, a circle.

    Notes
    -----
    Kahn's algorithm, linear in nodes and edges.

    Examples
    --------
    >>> import numpy as np
    >>> depths(np.array([2, 3, 3]), np.array([1, 2, 1]))
    {1: 0, 2: 1, 3: 2}
    """
    waits: dict[int, int] = defaultdict(int)
    behind: dict[int, list[int]] = defaultdict(list)
    for later, earlier in zip(after.tolist(), before.tolist(), strict=True):
        waits[later] += 1
        behind[earlier].append(later)
    depth = dict.fromkeys(sorted({*waits, *behind}), 0)
    ready = [node for node in depth if node not in waits]
    # Two numbers per node: `longest` grows while it still waits, and only a node that becomes ready takes it over as
    # its depth. What is in a circle never does.
    longest = dict(depth)
    while ready:
        node = ready.pop()
        depth[node] = longest[node]
        for later in behind[node]:
            longest[later] = max(longest[later], longest[node] + 1)
            waits[later] -= 1
            if not waits[later]:
                ready.append(later)
    return depth
