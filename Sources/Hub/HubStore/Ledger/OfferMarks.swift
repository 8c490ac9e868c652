import Synchronization

/// For each sink, the sequence number up to which versions may have been handed out without a known answer.
///
/// The target may have a version that was handed out without an answer, so a retraction of it must reach the target. The marks are kept in memory,
/// because a durable mark for each page would cost a commit. They are written with the sinks' rows and when the store closes. After a crash, every
/// stored version counts as handed out.
final class OfferMarks: Sendable {
    private struct Mark {
        var offered: Int64
        var isOpen = false
        /// Pages being read.
        ///
        /// Until each is finished, every version may be handed out.
        var claims = 0
    }

    private let marks = Mutex<[SinkID: Mark]>([:])

    /// Takes over the marks of the file.
    ///
    /// For sinks of a process that did not close the store, every version counts as handed out.
    func adopt(_ sinks: [SinkRecord], head: Int64) {
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

    /// Begins a page.
    ///
    /// Returns the mark before it, or `nil` if the sink is not open.
    func claim(_ sink: SinkID) -> Int64? {
        marks.withLock { marks in
            guard var mark = marks[sink], mark.isOpen else { return nil }
            let before = mark.claims > 0 ? .max : mark.offered
            mark.claims += 1
            marks[sink] = mark
            return before
        }
    }

    /// Ends a page that handed out versions up to `sequence`; 0 for none.
    func release(_ sink: SinkID, through sequence: Int64) {
        marks.withLock { marks in
            guard var mark = marks[sink] else { return }
            mark.claims -= 1
            mark.offered = max(mark.offered, sequence)
            marks[sink] = mark
        }
    }

    /// The highest sequence number that may have been handed out.
    func offered(_ sink: SinkID) -> Int64 {
        marks.withLock { marks in
            guard let mark = marks[sink] else { return 0 }
            return mark.claims > 0 ? .max : mark.offered
        }
    }
}
