"""`python -m tests.bench [--json] [--quick] [--strict] [--seconds N] [NAME…]`: the performance of this checkout, as a
table. `soak` is run by its name only.
"""

from __future__ import annotations

import argparse
import json
import math
import sys
from collections.abc import Callable, Iterable, Sequence

from tests.bench import engine
from tests.bench.measure import Bench, Measurement, failed

BENCHES: dict[str, Callable[[Bench], Iterable[Measurement]]] = {**engine.BENCHES}
if sys.platform != "win32":  # pseudo-terminals need a Unix system
    from tests.bench import soak, terminal

    BENCHES |= {**terminal.BENCHES, **soak.BENCHES}

BY_NAME = ("soak",)
"""Benches that take so long that they are run only when they are named."""

COLUMNS = ("name", "value", "unit", "ratio", "target", "met", "note")


def measure(names: Sequence[str], bench: Bench, show: Callable[[Measurement], None]) -> list[Measurement]:
    """Run the benches whose lines begin with one of `names` (all but `BY_NAME` without any), handing over each line as
    it comes.

    A bench that can't be run gives one line that says why; the others go on.
    """
    results: list[Measurement] = []
    for bench_name, run in BENCHES.items():
        wanted = [name for name in names if bench_name.startswith(name) or name.startswith(bench_name)]
        if not wanted and (names or bench_name in BY_NAME):
            continue
        try:
            for line in run(bench):
                if not names or line.name.startswith(tuple(wanted)):
                    results.append(line)
                    show(line)
        except Exception as error:
            results.append(failed(bench_name, error))
            show(results[-1])
    return results


def row(line: Measurement) -> str:
    """One line of the table."""
    ratio = "" if line.ratio is None else f"{line.ratio:.2f}×"
    target = "" if line.target is None else str(line.target)
    met = {True: "yes", False: "NO", None: ""}[line.met]
    value = "–" if math.isnan(line.value) else f"{line.value:,.0f}" if line.value >= 100 else f"{line.value:.4g}"
    return f"{line.name:<30} {value:>9} {line.unit:<8} {ratio:>8} {target:>8} {met:>4}  {line.note}".rstrip()


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the table; the exit code is 0, or 1 with `--strict` when a target is not met."""
    parser = argparse.ArgumentParser(prog="python -m tests.bench", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help="only lines that begin so, such as compile or start.")
    parser.add_argument("--json", action="store_true", help="print one JSON document, with the smallest values as well")
    parser.add_argument("--quick", action="store_true", help="tiny sizes: to see whether the benches work")
    parser.add_argument("--strict", action="store_true", help="exit with 1 when a target is missed or a bench fails")
    parser.add_argument("--seconds", type=float, default=600.0, metavar="N", help="how long soak lasts (600)")
    given = parser.parse_args(arguments)
    unknown = [
        name for name in given.names if not any(known.startswith(name) or name.startswith(known) for known in BENCHES)
    ]
    if unknown:
        parser.error(f"there is no bench {unknown[0]!r}; benches: {', '.join(BENCHES)}")
    if not given.json:
        print(f"{'name':<30} {'value':>9} {'unit':<8} {'ratio':>8} {'target':>8} {'met':>4}  note", flush=True)

    def show(line: Measurement) -> None:
        if not given.json:
            print(row(line), flush=True)

    with Bench(quick=given.quick, soaked=given.seconds) as bench:
        results = measure(given.names, bench, show)
    if given.json:
        print(json.dumps([line.document() for line in results], indent=2, ensure_ascii=False))
    missed = [line for line in results if line.met is False]
    return 1 if given.strict and missed else 0


if __name__ == "__main__":
    sys.exit(main())
