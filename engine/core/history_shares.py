"""Whose history goes when there is more than the node keeps.

Theory. Pruned by age alone, whoever makes most runs pushes the history of all others out, dead
letters included. Max-min fairness (Bertsekas and Gallager, "Data Networks", 6.5.2) gives whoever
wants less than an equal share what it wants, and divides the rest equally among the others: there
is a level, nobody holds more than it, and whoever is below it loses nothing. One tenant alone has
the whole bound.
"""

from collections.abc import Mapping


def excesses(held: Mapping[str, int], bound: int) -> dict[str, int]:
    """How many runs each tenant that holds too many has to give up, by what all hold.

    Together they leave `bound` runs exactly; of runs that cannot be divided equally the first
    tenants by name keep one more. Empty when all that is held fits.
    """
    room = bound
    rising = sorted(held, key=lambda tenant: (held[tenant], tenant))
    while rising and held[rising[0]] <= room // len(rising):
        room -= held[rising.pop(0)]
    if not rising:
        return {}
    level, more = divmod(room, len(rising))
    kept = {tenant: level + (place < more) for place, tenant in enumerate(sorted(rising))}
    return {tenant: held[tenant] - kept[tenant] for tenant in kept if held[tenant] > kept[tenant]}
