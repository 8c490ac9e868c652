import Dispatch
import GRDB
import Synchronization

/// Collects the transactions that wait while a commit is under way, and commits them together.
///
/// An fsync costs milliseconds and the statements microseconds, so callers that come at the same time share one. Each
/// runs in a savepoint of its own: one that fails leaves the others whole. Its queue holds at most one entry per caller
/// that waits, and so needs no bound of its own.
final class CommitQueue: Sendable {
    /// One caller's transaction.
    protocol Job: AnyObject, Sendable {
        func run(_ database: Database) throws
        /// Its changes are gone although it ran.
        func fail(_ error: any Error)
        /// Its outcome is known: wake the caller.
        func finish()
    }

    private struct Waiting {
        var jobs: [any Job] = []
        var isClosed = false
    }

    private let database: DatabaseQueue
    private let path: String
    private let waiting = Mutex(Waiting())

    init(_ database: DatabaseQueue, path: String) {
        (self.database, self.path) = (database, path)
    }

    /// Runs `job` on the database's own thread, as soon as the commit under way is done.
    func submit(_ job: any Job) {
        let (isClosed, isFirst) = waiting.withLock { waiting in
            if waiting.isClosed { return (true, false) }
            waiting.jobs.append(job)
            return (false, waiting.jobs.count == 1)
        }
        if isClosed {
            job.fail(PluginStateError(.closed, "the plugin's state in \(path) is closed; open it again to use it"))
            job.finish()
        } else if isFirst {
            // Otherwise a turn is already due, and will take this job along.
            database.asyncWriteWithoutTransaction { self.turn($0) }
        }
    }

    /// Accepts no more jobs, waits for those accepted, then closes the file.
    ///
    /// Harmless when done already.
    func close() throws {
        waiting.withLock { $0.isClosed = true }
        try database.close()  // Waits its turn behind the ones that are due.
    }

    private func turn(_ database: Database) {
        let group = waiting.withLock { waiting in
            defer { waiting.jobs = [] }
            return waiting.jobs
        }
        let isShared = group.count > 1
        var hasFailed = Array(repeating: false, count: group.count)
        do {
            try database.beginTransaction(.immediate)
            for (index, job) in group.enumerated() {
                if isShared { try database.cachedStatement(sql: "SAVEPOINT job").execute() }
                do {
                    try job.run(database)
                } catch  where isShared && database.isInsideTransaction {
                    (hasFailed[index], _) = (true, job.fail(error))
                    try database.cachedStatement(sql: "ROLLBACK TO job").execute()
                }
                if isShared { try database.cachedStatement(sql: "RELEASE job").execute() }
            }
            try database.commit()
        } catch {
            // Also when SQLite ended the transaction by itself, as it does on a full disk: all of it is gone.
            if database.isInsideTransaction { try? database.rollback() }
            for (index, job) in group.enumerated() where !hasFailed[index] { job.fail(error) }
        }
        for job in group { job.finish() }
    }
}
