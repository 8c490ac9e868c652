import GRDB

extension Store {
    /// The names of all sinks.
    ///
    /// Reads one small table.
    public func sinkNames() async throws(StoreError) -> [SinkID] {
        try await read("sink names") { db in
            try Row.fetchAll(db, sql: "SELECT instance, want FROM sink WHERE forgotten = 0").map {
                SinkID(instance: $0[0], want: $0[1])
            }
        }
    }
}
