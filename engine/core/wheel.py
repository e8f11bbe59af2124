"""Timers by the hundred thousand: a hierarchical timing wheel, as data.

Theory: G. Varghese and T. Lauck, "Hashed and Hierarchical Timing Wheels" (SOSP 1987), scheme 7.
Write instants, whole milliseconds, in base 1024; the digits count milliseconds, then roughly
seconds, quarters of an hour, fortnights. Level n has a slot for each value of digit n, and an entry
lies at the level of the highest digit in which its instant differs from now. So

* a level's entries agree with now in all higher digits and exceed it in this one: its slots are
  in order of time, and everything at a level is due before anything at the next;
* the first entry is in the lowest occupied slot of the lowest occupied level, which an integer
  with a bit for each slot gives without a search, however long the empty span before it;
* when time enters a slot of level n > 0, its entries are dealt out again, to levels below n. An
  entry is moved once per level at most, and two entries due at the same instant always share a
  slot, so that they keep the order in which they were inserted.

Prior art: Kafka's `TimingWheel` moves from bucket to bucket instead of tick to tick, and makes an
overflow wheel when an instant needs one, as levels are made here. tokio finds the level by the
highest differing bit and keeps a bit field of its slots. Netty's hashed wheel has one level and
counts rounds, so it visits entries that are not due. Linux stopped dealing out in 4.8 and gives
up precision for it; a scheduler that promises never to be early and rarely late cannot.

Trade-offs. Insertion and expiry are O(1) where a heap's are O(log n), and cancelling is a deletion
where a heap keeps the corpse. The price is work that comes in lumps: a slot is dealt out at once.
Measured figures and the alternatives are in docs/decisions/0005-wheel.md.
"""

from typing import Generic, TypeVar

Item = TypeVar("Item")

Handle = int  # Opaque to callers. Its order is the order of expiry: due instant, then insertion.

_Slot = dict[Handle, Item]


class Wheel(Generic[Item]):
    """Items by due instant, in milliseconds since the epoch. Nothing moves until `advance`."""

    __slots__ = ("_inserted", "_levels", "_now_ms", "_overdue", "_removed")

    def __init__(self, start_ms: int) -> None:
        assert start_ms >= 0, "digits are those of instants from 1970 on"
        self._now_ms = start_ms
        self._levels: list[_Level[Item]] = []
        self._overdue: dict[Handle, Item] = {}
        self._inserted = 0
        self._removed = 0

    def __len__(self) -> int:
        return self._inserted - self._removed

    def insert(self, due_ms: int, item: Item) -> Handle:
        """Keep `item` until `due_ms`; if that is past, until the next `advance`."""
        self._inserted += 1
        handle = (due_ms << _ORDER_BITS) + self._inserted
        self._slot(due_ms)[handle] = item
        return handle

    def cancel(self, handle: Handle) -> bool:
        """Forget an item; False if it has expired or was cancelled already."""
        due_ms = handle >> _ORDER_BITS
        slot = self._slot(due_ms)
        found = handle in slot
        if found:
            del slot[handle]
            self._removed += 1
        if not slot and slot is not self._overdue:
            self._level(due_ms).drop(due_ms)
        return found

    def next_due(self) -> int | None:
        """When to call `advance` next: never after the first item is due. None: when empty.

        It is the first item's instant, unless that one shares a higher level's slot with more
        items than are worth a look. Then it is the instant at which that slot is dealt out.
        """
        if self._overdue:
            return min(self._overdue) >> _ORDER_BITS
        for level in self._levels:
            if level.occupied:
                return level.first_ms()
        return None

    def advance(self, now_ms: int) -> list[Item]:
        """Take out what is due at `now_ms`: by due instant, then in order of insertion.

        Costs nothing for the time passed, only for items. When `now_ms` is lower than before,
        the clock was set back: what is kept is laid out anew around it.
        """
        if now_ms < self._now_ms:
            self._rewind(now_ms)
        self._now_ms = now_ms
        expired = self._take_overdue() if self._overdue else []
        for level in self._levels:
            if level.occupied:
                for slot in level.take(now_ms):
                    if level.shift:
                        self._deal(slot)
                    else:  # One millisecond wide, so all of it is due.
                        expired += slot.values()
                if self._overdue:
                    expired += self._take_overdue()
                if level.occupied:
                    break  # What is left here is later than now, and the next levels later still.
        self._removed += len(expired)
        return expired

    def _take_overdue(self) -> list[Item]:
        overdue, self._overdue = self._overdue, {}
        return [overdue[handle] for handle in sorted(overdue)]

    def _slot(self, due_ms: int) -> _Slot[Item]:
        if due_ms <= self._now_ms:
            return self._overdue
        return self._level(due_ms).slot(due_ms)

    def _level(self, due_ms: int) -> "_Level[Item]":
        number = ((due_ms ^ self._now_ms).bit_length() - 1) // _DIGIT_BITS
        while number >= len(self._levels):
            self._levels.append(_Level(len(self._levels)))
        return self._levels[number]

    def _deal(self, slot: _Slot[Item]) -> None:
        """Put a slot's items where they belong from now on, in the order in which they came."""
        for handle, item in slot.items():
            self._slot(handle >> _ORDER_BITS)[handle] = item

    def _rewind(self, now_ms: int) -> None:
        slots = [self._overdue, *(s for level in self._levels for s in level.slots.values())]
        self._now_ms, self._overdue, self._levels = now_ms, {}, []
        for slot in slots:
            self._deal(slot)


# 1,024 slots a level. With 256, all entries of the 5 s lookahead enter a new slot of level 2, at
# once, every minute instead of every 17; with 4,096, a slot of level 1 is four seconds of work.
_DIGIT_BITS = 10
_DIGIT_MASK = (1 << _DIGIT_BITS) - 1

# A handle is the due instant with a serial number below it: 89 years at 100,000 insertions a
# second. 48 bits also let Python's hash of an integer (modulo 2**61 - 1) keep neighbours apart.
_ORDER_BITS = 48

# To find the least of so many handles takes less time than to wake up once for nothing.
_SCAN_MAX = 64


class _Level(Generic[Item]):
    """The slots of one digit. `base` is the common higher digits, shifted like the slot's own."""

    __slots__ = ("base", "occupied", "shift", "slots")

    def __init__(self, number: int) -> None:
        self.shift = number * _DIGIT_BITS
        self.slots: dict[int, _Slot[Item]] = {}
        self.occupied = 0
        self.base = 0

    def slot(self, due_ms: int) -> _Slot[Item]:
        """The slot for `due_ms`, made if it is not there."""
        digits = due_ms >> self.shift
        digit = digits & _DIGIT_MASK
        slot = self.slots.get(digit)
        if slot is None:
            slot = self.slots[digit] = {}
            self.occupied |= 1 << digit
            self.base = digits ^ digit
        return slot

    def drop(self, due_ms: int) -> None:
        """Remove the slot for `due_ms`, which is empty."""
        digit = due_ms >> self.shift & _DIGIT_MASK
        del self.slots[digit]
        self.occupied ^= 1 << digit

    def first_ms(self) -> int:
        """The first instant of an occupied level that needs attention."""
        digit = (self.occupied & -self.occupied).bit_length() - 1
        slot = self.slots[digit]
        if len(slot) <= _SCAN_MAX:
            return min(slot) >> _ORDER_BITS
        return (self.base | digit) << self.shift

    def take(self, now_ms: int) -> list[_Slot[Item]]:
        """Remove the slots that have begun by `now_ms`, and return them in order of time."""
        last = (now_ms >> self.shift) - self.base
        taken = []
        while self.occupied:
            lowest = self.occupied & -self.occupied
            digit = lowest.bit_length() - 1
            if digit > last:
                break
            self.occupied ^= lowest
            taken.append(self.slots.pop(digit))
        return taken
