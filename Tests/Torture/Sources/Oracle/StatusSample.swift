/// The part of the hub's `status` that the judge uses.
struct StatusSample: Decodable, Sendable {
    var epoch: String
    var head: Int64
    var accounts: [Account]
    var sinks: [Sink]
    var store = Store()

    struct Store: Decodable, Sendable {
        /// `ok`, or the fault.
        var state = "ok"
        var error: String?
        var warning: String?
    }

    struct Account: Decodable, Sendable {
        var instance: String
        var received, stored, versions, retractions, duplicates, rejected: Int64
    }

    struct Sink: Decodable, Sendable {
        var name: String
        var wanted, delivered, pending, retrying, refused, superseded, skipped: Int64
        /// The position up to which everything is settled.
        var cursor: String
    }
}

/// The story of a record, as `trace` returns it.
struct Story: Decodable, Sendable {
    var number, seq: Int64
    var versions: [Version]
    var deliveries: [Delivery]

    struct Version: Decodable, Sendable {
        var record: Record
    }

    struct Record: Decodable, Sendable {
        struct Source: Decodable, Sendable {
            var device: String?
        }
        var kind, type, key: String
        var source: Source
        var value: Double?
        var reason: String?
        var seq: Int64
    }

    struct Delivery: Decodable, Sendable {
        var sink, state: String
        var seq: Int64
        var reason: String?
    }
}
