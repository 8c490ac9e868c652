import Synchronization

/// Up to which sequence each sink may have been given versions whose answers are not known.
///
/// What was given out and not answered, the target may have: a retraction of it must reach the target. The marks live in memory,
/// because a durable one for each page would cost a commit; they are written with the sinks' rows and when the store closes, and
/// after a crash everything stored counts as given out.
final class OfferMarks: Sendable {
    private struct Mark {
        var offered: Int64
        var isOpen = false
        /// Pages that are being read: until each is known, everything may be given out.
        var claims = 0
    }

    private let marks = Mutex<[SinkID: Mark]>([:])

    /// Takes over what the file says; for sinks of a process that did not close the store, everything.
    init(_ sinks: [SinkRecord], head: Int64) {
        marks.withLock { marks in
            for sink in sinks { marks[sink.name] = Mark(offered: sink.isBusy ? head : sink.offered) }
        }
    }

    /// Allows pages for the sink.
    func open(_ sink: SinkID) {
        marks.withLock { $0[sink, default: Mark(offered: 0)].isOpen = true }
    }

    func forget(_ sink: SinkID) {
        marks.withLock { $0[sink] = nil }
    }

    /// Begins a page; what may have been given out before it, or `nil` when the sink was not opened.
    func claim(_ sink: SinkID) -> Int64? {
        marks.withLock { marks in
            guard var mark = marks[sink], mark.isOpen else { return nil }
            let before = mark.claims > 0 ? .max : mark.offered
            mark.claims += 1
            marks[sink] = mark
            return before
        }
    }

    /// Ends a page, which gave out versions up to `sequence`; 0 for none.
    func release(_ sink: SinkID, through sequence: Int64) {
        marks.withLock { marks in
            guard var mark = marks[sink] else { return }
            mark.claims -= 1
            mark.offered = max(mark.offered, sequence)
            marks[sink] = mark
        }
    }

    /// The highest sequence that may have been given out.
    func offered(_ sink: SinkID) -> Int64 {
        marks.withLock { marks in
            guard let mark = marks[sink] else { return 0 }
            return mark.claims > 0 ? .max : mark.offered
        }
    }
}
