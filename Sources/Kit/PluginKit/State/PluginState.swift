import Dispatch
import GRDB
import Platform
import Synchronization

/// The persistent state of one plugin instance: key/value state, cursors (keys by convention) and the spool.
///
/// The spool holds records that the hub has not stored yet. Everything is in `state.db` in the instance's own directory.
///
/// A call returns when its change is on the disk (one transaction, one fsync), and throws if nothing of it is stored. Every call exists twice.
/// The blocking variant is for a thread that may wait, such as one that reads a device. In an `async` function the compiler chooses the other
/// variant, which suspends. Concurrent callers share one commit and few fsyncs; consecutive calls cost one fsync each.
///
/// Only one `PluginState` may have the directory open, and it may be used from any thread.
public final class PluginState: Sendable {
    /// The directory passed to the initializer.
    public let directory: String
    /// The limits on the size of the state.
    public let limits: Limits

    private let commits: CommitQueue
    private let lock: FileLock
    private let path: String
    private static let owner = DispatchSpecificKey<ObjectIdentifier>()

    /// Opens the state in `directory`, creating both if missing; blocks for a few fsyncs.
    ///
    /// The directory is created with mode 0700, its files with 0600. Throws `locked` (with the holder's process id), `readOnly`, `diskFull`,
    /// `newerSchema`, `corrupt` or `io`; existing files are unchanged then.
    public init(directory: String, limits: Limits = Limits()) throws(PluginStateError) {
        let path = directory + "/state.db"
        try PluginStateError.translated("creating the state directory") { () throws(FileError) in
            try Folder.make(directory)
        }
        let lock = try Self.lock(directory)
        try PluginStateError.translated("opening the plugin's state") { () throws(FileError) in
            try PrivateFile.prepare(path)
        }
        let thread = DispatchQueue(label: "plugin-state")
        do {
            var configuration = Configuration()
            configuration.label = "plugin-state"
            configuration.targetQueue = thread
            configuration.busyMode = .timeout(5)  // A person may have the file open in `sqlite3`.
            let database = try DatabaseQueue(path: path, configuration: configuration)
            try database.writeWithoutTransaction { try StateSchema.prepare($0, path: path, limits: limits) }
            commits = CommitQueue(database, path: path)
        } catch {
            lock.release()
            throw PluginStateError(wrapping: error, "opening the plugin's state", path)
        }
        thread.setSpecific(key: Self.owner, value: ObjectIdentifier(commits))
        (self.directory, self.limits, self.lock, self.path) = (directory, limits, lock, path)
    }

    /// Locks the directory for one `PluginState` through the file `lock` in it.
    private static func lock(_ directory: String) throws(PluginStateError) -> FileLock {
        do throws(FileLock.LockError) { return try FileLock(directory + "/lock") } catch {
            switch error {
            case .held(let holder):
                throw PluginStateError(
                    .locked,
                    "locking the plugin's state failed: \(directory) is in use by \(holder); "
                        + "stop that one, or give each instance a separate directory")
            case .refused(let error): throw PluginStateError(error, "locking the plugin's state")
            }
        }
    }

    /// Finishes the accepted calls, closes the file and releases the directory; later calls throw `closed`.
    ///
    /// Blocks until then. Releasing the last reference has the same effect, at an unspecified time.
    public func close() throws(PluginStateError) {
        refuseNesting()
        defer { lock.release() }
        do {
            try commits.close()
        } catch {
            throw PluginStateError(wrapping: error, "closing the plugin's state", path)
        }
    }

    /// Runs all of `body` in one commit, or nothing of it; blocks until the commit is on the disk.
    ///
    /// `body` runs once, on another thread, while no other transaction of this state runs. It must not wait for another transaction or call
    /// this object (a trap). An error that it throws undoes its changes and is rethrown.
    /// - Throws: the error that `body` throws, or a `PluginStateError`.
    public func transaction<Result: Sendable>(
        _ body: @escaping @Sendable (borrowing Transaction) throws -> Result
    ) throws -> Result {
        refuseNesting()
        let done = DispatchSemaphore(value: 0)
        let job = Job(body, path, limits)
        job.whenDone { done.signal() }
        commits.submit(job)
        done.wait()
        return try job.outcome()
    }

    /// Runs all of `body` in one commit, or nothing of it; suspends until the commit is on the disk.
    ///
    /// The rules are those of the blocking variant. Cancelling the task does not interrupt the transaction, because a change that has begun
    /// must have an outcome.
    public func transaction<Result: Sendable>(
        _ body: @escaping @Sendable (borrowing Transaction) throws -> Result
    ) async throws -> Result {
        let job = Job(body, path, limits)
        await withCheckedContinuation { continuation in
            job.whenDone { continuation.resume() }
            commits.submit(job)
        }
        return try job.outcome()
    }

    /// Traps, because a blocking call from inside a transaction would deadlock.
    private func refuseNesting() {
        precondition(
            DispatchQueue.getSpecific(key: Self.owner) != ObjectIdentifier(commits),
            "PluginState was called inside a transaction of the same state: use the transaction's calls there")
    }
}

/// One caller's transaction on its way through the commit queue.
private final class Job<Result: Sendable>: CommitQueue.Job {
    private struct State {
        var outcome: Swift.Result<Result, any Error>?
        var wake: @Sendable () -> Void = {}
    }

    private let body: @Sendable (borrowing PluginState.Transaction) throws -> Result
    private let path: String
    private let limits: PluginState.Limits
    private let state = Mutex(State())

    init(
        _ body: @escaping @Sendable (borrowing PluginState.Transaction) throws -> Result,
        _ path: String, _ limits: PluginState.Limits
    ) {
        (self.body, self.path, self.limits) = (body, path, limits)
    }

    /// Sets the closure that wakes the caller; call it before the job is submitted.
    func whenDone(_ wake: @escaping @Sendable () -> Void) { state.withLock { $0.wake = wake } }

    func run(_ database: Database) throws {
        let transaction = PluginState.Transaction(database: database, place: .init(path: path), limits: limits)
        let result = try body(transaction)
        // A failure of SQLite that `body` caught may have left half a change.
        if let failure = transaction.place.failure { throw failure }
        state.withLock { $0.outcome = .success(result) }
    }

    func fail(_ error: any Error) {
        let error = error is DatabaseError ? PluginStateError(wrapping: error, "committing", path) : error
        state.withLock { $0.outcome = .failure(error) }
    }

    func finish() { state.withLock { $0.wake }() }

    func outcome() throws -> Result {
        guard let outcome = state.withLock({ $0.outcome }) else {
            preconditionFailure("a transaction was finished without an outcome")
        }
        return try outcome.get()
    }
}
