import Foundation

/// Does blocking work on its own thread.
public func onThread<Value: Sendable>(_ body: @escaping @Sendable () throws -> Value) async throws -> Value {
    try await withCheckedThrowingContinuation { continuation in
        Thread.detachNewThread { continuation.resume(with: Result(catching: body)) }
    }
}

/// Returns as soon as the condition holds; if it never does, the time limit of the test ends the wait.
///
/// The pauses grow from 10 to 250 ms: a check may start a program, and other tests need the processor.
public func eventually(_ isSo: () async throws -> Bool) async throws {
    var pause = Duration.milliseconds(10)
    while try await !isSo() {
        try await Task.sleep(for: pause)
        pause = min(pause * 1.5, .milliseconds(250))
    }
}
