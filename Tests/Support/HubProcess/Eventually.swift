/// Returns when it is so; the time limit of the test ends a wait in vain.
///
/// The pauses grow from 10 to 250 ms: a question may start a program, and tests beside this one need the processor.
public func eventually(_ isSo: () async throws -> Bool) async throws {
    var pause = Duration.milliseconds(10)
    while try await !isSo() {
        try await Task.sleep(for: pause)
        pause = min(pause * 1.5, .milliseconds(250))
    }
}
