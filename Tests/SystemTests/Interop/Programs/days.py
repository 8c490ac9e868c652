"""Computes daily series with pandas, for PandasTests: FILE holds [{"zone", "today", "times" (ISO 8601), "values"}]."""
import json
import sys

import pandas

answers = []
for case in json.load(open(sys.argv[1])):
    times = pandas.to_datetime(case["times"], utc=True).tz_convert(case["zone"])
    days = pandas.Series(case["values"], index=times).sort_index().resample("D").mean()
    through = pandas.date_range(days.index[0], pandas.Timestamp(case["today"], tz=case["zone"]), freq="D")
    filled = days.reindex(through).ffill(limit=29).dropna()
    answers.append({str(day.date()): value for day, value in filled.items()})
print(json.dumps(answers))
