/// A value that a plugin makes at its first use, such as its parts, which need the settings of the running plugin.
package actor LazyValue<Value: Sendable> {
    private var making: Task<Value, any Error>?

    package init() {}

    /// The value; calls `make` if there is none, once for all concurrent callers, and again after an error.
    package func value(_ make: @escaping @Sendable () async throws -> Value) async throws -> Value {
        if let making { return try await making.value }
        let task = Task { try await make() }
        making = task
        do { return try await task.value } catch {
            making = nil
            throw error
        }
    }
}
