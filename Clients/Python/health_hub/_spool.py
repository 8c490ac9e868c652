"""Records on disk that the hub has not stored yet."""
from __future__ import annotations

import json
import sqlite3
from typing import Iterable, List, Tuple

from ._core import HubError, Object, Result, encode


class Spool:
    """A file of records that wait for the hub, in the order they came; one process at a time has it.

    When `add` has returned, its records are on the disk and survive a crash of the machine. Records that the hub rejects
    are kept in the table `rejected` with code and reason, and are not sent again.

    - bound: how many records may wait; beyond, `add` is a HubError `full` and takes none of them.
    """

    def __init__(self, path: str, bound: int = 1_000_000) -> None:
        self.path, self.bound = path, bound
        self._base = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
        try:
            self._base.execute("PRAGMA locking_mode = EXCLUSIVE")
            self._base.execute("PRAGMA journal_mode = WAL")
            self._base.execute("PRAGMA synchronous = FULL")
            # A row has the records that must be in one batch: one record, or the records of a group.
            self._base.execute(
                "CREATE TABLE IF NOT EXISTS waiting (id INTEGER PRIMARY KEY AUTOINCREMENT, count INTEGER, records TEXT)")
            self._base.execute("CREATE TABLE IF NOT EXISTS rejected (record TEXT, code TEXT, reason TEXT)")
            self._count = int(self._base.execute("SELECT coalesce(sum(count), 0) FROM waiting").fetchone()[0])
        except sqlite3.OperationalError as error:
            self._base.close()
            raise HubError("spool", f"{path}: {error}; another process may have it") from None

    def __len__(self) -> int:
        return self._count

    def add(self, records: Iterable[Object]) -> None:
        """Returns when they are on the disk. The records of a group must be adjacent, in one call."""
        rows: List[List[Object]] = []
        for record in records:
            if rows and record.get("group") is not None and rows[-1][0].get("group") == record["group"]:
                rows[-1].append(record)
            else:
                rows.append([record])
        count = sum(len(row) for row in rows)
        if self._count + count > self.bound:
            raise HubError("full", f"{self.path} has {self._count} records, of {self.bound} that may wait for the hub")
        texts = [(len(row), encode(row, "records").decode()) for row in rows]
        for many, text in texts:
            size = len(text.encode())
            if many > 1000 or size > 1_000_000:  # it would wait here for ever
                raise HubError("size", f"{many} records and {size} bytes that belong together do not fit into a batch")
        with self._transaction():
            self._base.executemany("INSERT INTO waiting (count, records) VALUES (?, ?)", texts)
        self._count += count

    def first(self, count: int) -> Tuple[int, List[Object]]:
        """The oldest records, about `count` of them, and what `settle` needs."""
        records: List[Object] = []
        last = 0
        for last, text in self._base.execute("SELECT id, records FROM waiting ORDER BY id LIMIT ?", (count,)):
            records += json.loads(text)
            if len(records) >= count:
                break
        return last, records

    def settle(self, last: int, records: List[Object], results: List[Result]) -> None:
        """The hub has answered all records that `first` returned."""
        with self._transaction():
            self._base.execute("DELETE FROM waiting WHERE id <= ?", (last,))
            self._base.executemany("INSERT INTO rejected VALUES (?, ?, ?)", [
                (encode(record, "record").decode(), result.get("code"), result.get("reason"))
                for record, result in zip(records, results) if result["result"] == "rejected"])
        self._count -= len(records)

    def rejected(self) -> List[Tuple[Object, str, str]]:
        """Each with its code and its reason, oldest first."""
        return [(json.loads(record), code, reason) for record, code, reason in
                self._base.execute("SELECT record, code, reason FROM rejected ORDER BY rowid")]

    def close(self) -> None:
        self._base.close()

    def _transaction(self) -> "_Transaction":
        return _Transaction(self._base)


class _Transaction:
    def __init__(self, base: sqlite3.Connection) -> None:
        self.base = base

    def __enter__(self) -> None:
        self.base.execute("BEGIN IMMEDIATE")

    def __exit__(self, kind: object, error: object, trace: object) -> None:
        self.base.execute("COMMIT" if error is None else "ROLLBACK")
