import HubStore
import HubWire
import Samples
import Synchronization
import ZeroMQ

/// What the store says of itself for `hub status`.
struct StoreReading: Sendable {
    var accounts: [Account]
    var inbox, implausible: Int64
    var sinks: [SinkOverview]
    var persons: [Person]
    var tokens: [TokenOverview]

    var records: Int64 { accounts.reduce(0) { $0 + $1.stored } }
}

/// Whether the store works, found out by reading it; a disk that fails or does not answer is an answer too.
extension Door {
    /// A store that is well answers at once, and whoever asks for the status waits ten seconds.
    static let readingPatience = Duration.seconds(4)
    /// The largest commit takes less on any disk that works.
    static let commitPatience = Duration.seconds(10)

    /// - Returns: nothing of the store where it cannot be read.
    func lookAtStore() async -> (StoreReading?, HubStatus.StoreState) {
        let result = await readStore()
        var state = HubStatus.StoreState(
            path: facts.storePath, state: "ok", free: roomWatch.room?.free, log: roomWatch.room?.log,
            warning: storeWarning)
        if let storeFault {
            (state.state, state.error) = ("\(storeFault.code)", storeFault.message)
        } else if let age = committer.age, age > Self.commitPatience {
            (state.state, state.error) = ("hanging", Self.hanging("a commit", facts.storePath, age))
        } else if case .failure(let fault) = result {
            (state.state, state.error) = ("\(fault.code)", fault.message)
        } else if result == nil {
            let age = Duration.milliseconds(now - (storeReading?.began ?? now))
            (state.state, state.error) = ("hanging", Self.hanging("reading", facts.storePath, age))
        }
        return (try? result?.get(), state)
    }

    private static func hanging(_ what: String, _ path: String, _ age: Duration) -> String {
        "\(what) has not returned for \(age.components.seconds) s: the disk of \(path) does not answer, or far too slowly. "
            + "See dmesg, and whether what it is connected by or mounted from is there; "
            + "the hub goes on by itself when the disk does, and ending it would not help"
    }

    /// `nil` where no answer comes in time; the question stays open then, and whoever asks next waits for the same.
    private func readStore() async -> Result<StoreReading, StoreError>? {
        let reading = storeReading?.task ?? beginReading()
        return await withCheckedContinuation { continuation in
            let waiter = FirstAnswer(continuation)
            loop.schedule(after: Self.readingPatience) { waiter.resume(nil) }
            Task { waiter.resume(await reading.value) }
        }
    }

    private func beginReading() -> Task<Result<StoreReading, StoreError>, Never> {
        let task = Task { [store, secrets] in
            let result: Result<StoreReading, StoreError>
            do throws(StoreError) {
                let tokens = try? await secrets.get().overview()
                result = .success(
                    StoreReading(
                        accounts: try await store.accounts(), inbox: try await store.inboxCount(),
                        implausible: try await store.implausibleCount(),
                        sinks: try await store.sinks(), persons: try await store.persons(), tokens: tokens ?? []))
            } catch {
                result = .failure(error)
            }
            storeReading = nil
            return result
        }
        storeReading = (task, now)
        return task
    }
}

/// Goes on with whatever comes first.
private final class FirstAnswer<Value: Sendable>: Sendable {
    private let continuation: Mutex<CheckedContinuation<Value, Never>?>

    init(_ continuation: CheckedContinuation<Value, Never>) { self.continuation = Mutex(continuation) }

    func resume(_ value: Value) {
        continuation.withLock { $0.take() }?.resume(returning: value)
    }
}
