"""The instrument: puts an engine under a herd and says what happened, from outside of it.

`python -m loadtest herd --schedules 100000 --jitter 60 --rate 2000 --real --out DIR`

Two modes, and they measure different things.

* `--real` starts an engine as its users do, as a process with a journal on disk, sends schedules
  through its API, and receives what it sends in a process of its own that keeps a ledger.
* `--virtual` runs the same planner, wheel, queue, bucket and journal in virtual time, against
  receivers without a network. It says what the policy does, the same every time, and nothing at
  all about speed.

Nothing that is judged is taken from the engine's own arithmetic: which runs are owed, when, under
which key and signature is computed here once more (`arithmetic.py`), and what was sent is what
arrived. Delays count from the instant at which a run was meant to leave, so that an engine that
falls behind cannot hide it by starting late (coordinated omission: Gil Tene, "How NOT to measure
latency", 2013).
"""
