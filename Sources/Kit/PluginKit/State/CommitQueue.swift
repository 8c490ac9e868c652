import Dispatch
import GRDB
import Synchronization

/// Collects the transactions that wait during a commit, and commits them together.
///
/// An fsync costs milliseconds and the statements microseconds, so simultaneous callers share one fsync. Each transaction runs in its own
/// savepoint: if it fails, the others are not affected. The queue holds at most one entry per waiting caller, so it needs no limit.
final class CommitQueue: Sendable {
    /// One caller's transaction.
    protocol Job: AnyObject, Sendable {
        func run(_ database: Database) throws
        /// Reports that the changes were rolled back although the job ran.
        func fail(_ error: any Error)
        /// Wakes the caller, because the outcome is known.
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
            // Otherwise a turn is already scheduled and includes this job.
            database.asyncWriteWithoutTransaction { self.turn($0) }
        }
    }

    /// Accepts no more jobs, waits for those accepted, then closes the file.
    ///
    /// A second call has no effect.
    func close() throws {
        waiting.withLock { $0.isClosed = true }
        try database.close()  // Waits for the scheduled turns.
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
            // SQLite may also have ended the transaction, for example on a full disk: all changes are lost.
            if database.isInsideTransaction { try? database.rollback() }
            for (index, job) in group.enumerated() where !hasFailed[index] { job.fail(error) }
        }
        for job in group { job.finish() }
    }
}
