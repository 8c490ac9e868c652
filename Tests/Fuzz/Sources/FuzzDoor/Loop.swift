import Dispatch
import Synchronization

/// Runs tasks on the thread of the fuzzer, so that only the plugin's state causes changes of threads.
final class Loop: TaskExecutor {
    private let jobs = Mutex<[UnownedJob]>([])
    private let bell = DispatchSemaphore(value: 0)

    func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        jobs.withLock { $0.append(job) }
        bell.signal()
    }

    func run(_ body: @escaping @Sendable () async -> Void) {
        let isDone = Flag()
        Task(executorPreference: self) {
            await body()
            isDone.set()
        }
        while !isDone.isSet {
            bell.wait()
            let job = jobs.withLock { $0.isEmpty ? nil : $0.removeFirst() }
            job?.runSynchronously(on: asUnownedTaskExecutor())
        }
    }
}

final class Flag: Sendable {
    private let value = Atomic(false)

    func set() { value.store(true, ordering: .sequentiallyConsistent) }

    var isSet: Bool { value.load(ordering: .sequentiallyConsistent) }
}
