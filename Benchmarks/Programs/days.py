"""The peer of `days_vs_pandas`: ten years of four weigh-ins a day, a person at a time, resampled and carried. Prints persons_per_s.

The index has local times without a zone, which is pandas' fastest form. With `whole-hours` every weigh-in is at a whole hour, which is faster still.
"""
import sys
import time

import numpy
import pandas

persons = int(sys.argv[1]) if len(sys.argv) > 1 else 1000
is_whole = sys.argv[2:] == ["whole-hours"]
days = 3650
generator = numpy.random.default_rng(1)
hours = numpy.array([7, 12, 18, 22], dtype="timedelta64[h]")
midnights = numpy.datetime64("2013-10-22", "us") + numpy.arange(days).astype("timedelta64[D]")
spent = 0.0
for _ in range(persons):
    times = (midnights[:, None] + hours).ravel()
    if not is_whole:
        times = times + generator.integers(0, 16 << 20, 4 * days).astype("timedelta64[us]")
    times = times.astype("datetime64[ns]")
    values = 80 + generator.random(4 * days)
    begin = time.perf_counter()
    filled = pandas.Series(values, index=pandas.DatetimeIndex(times)).resample("D").mean().ffill(limit=29)
    spent += time.perf_counter() - begin
    assert len(filled) == days
print("persons_per_s", persons / spent)
