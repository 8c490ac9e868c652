import Foundation
import Synchronization

/// Runs one check after the other and abandons a check that hangs: a disk that does not answer blocks a thread for ever.
///
/// A check may take any time as long as it works: it must use the processor or get data from a disk.
struct CheckRunner: Sendable {
    /// The time that a check may stand still.
    var patience = Duration.seconds(5)

    /// - Returns: `nil` if `look` stood still; its thread stays behind.
    func result<Value: Sendable>(_ look: @escaping @Sendable () -> Value) -> Value? {
        let (box, isOver) = (Box<Value>(), DispatchSemaphore(value: 0))
        Thread {
            let value = look()
            box.value.withLock { $0 = value }
            isOver.signal()
        }.start()
        var (since, before) = (ContinuousClock.now, CheckRunner.work())
        while isOver.wait(timeout: .now() + .milliseconds(200)) == .timedOut {
            let work = CheckRunner.work()
            if work.processor - before.processor >= 20_000 || work.read - before.read >= 65_536 {
                (since, before) = (.now, work)
            } else if since.duration(to: .now) > patience {
                return nil
            }
        }
        return box.value.withLock { $0 }
    }

    private final class Box<Value: Sendable>: Sendable { let value = Mutex<Value?>(nil) }

    /// The work of the other threads of this process so far: microseconds of processor time, and bytes read from disks, if the system tells.
    private static func work() -> (processor: Int64, read: Int64) {
        let lines = (try? String(contentsOfFile: "/proc/self/io", encoding: .utf8))?.split(separator: "\n") ?? []
        let read = lines.first { $0.hasPrefix("read_bytes: ") }?.dropFirst("read_bytes: ".count)
        return (
            microseconds(of: CLOCK_PROCESS_CPUTIME_ID) - microseconds(of: CLOCK_THREAD_CPUTIME_ID),
            read.flatMap { Int64($0) } ?? 0
        )
    }

    private static func microseconds(of clock: clockid_t) -> Int64 {
        var time = timespec()
        clock_gettime(clock, &time)
        return Int64(time.tv_sec) * 1_000_000 + Int64(time.tv_nsec) / 1_000
    }
}
