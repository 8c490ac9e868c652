public import HubWire
public import Samples

/// A plugin that receives records: for a cloud, a file or a display.
///
/// ```swift
/// @main struct Printer: SinkPlugin {
///     static let manifest = Manifest(
///         name: "printer", summary: "Prints every weight.", version: "1.0", reads: ["weight"], sink: SinkAbilities())
///
///     func wants(_ hub: PluginContext) -> [Want] { [Want("weights", types: ["weight"], start: .beginning)] }
///
///     func deliver(_ records: [DeliveredRecord], for want: Want, _ hub: PluginContext) async throws -> [DeliveryResult] {
///         for record in records { print(record.json) }
///         return records.map { _ in .delivered }
///     }
/// }
/// ```
///
/// The hub tracks the deliveries for each subscription and record; a sink stores nothing. After a crash of either side, the hub delivers
/// unanswered records again: repeating the same record and sequence must be harmless (R10.6). A plugin may be a source, too. A sink that only
/// delivers needs no ``Plugin/run(_:)``.
public protocol SinkPlugin: Plugin {
    /// Returns the subscriptions; called when the settings are known and before the first delivery, and again for each
    /// ``PluginContext/renewWants()``.
    ///
    /// Open the targets of ``deliver(_:for:_:)`` here, too. At most 16 subscriptions are allowed, with unique names. The hub identifies a
    /// subscription by the instance and this name, so a new name is a new subscription. Return an empty array if nothing can be delivered yet,
    /// or if the plugin is also a ``SourcePlugin`` and its settings make it a source only.
    /// - Throws: the same errors as ``Plugin/run(_:)``.
    func wants(_ hub: PluginContext) async throws -> [Want]

    /// Delivers records in the order of their sequence and returns the result of each.
    ///
    /// At most `deliveriesAtOnce` of the manifest's `SinkAbilities` run at the same time for a subscription; one identity is never in two of
    /// them. When the plugin has to stop, deliveries in progress are finished first.
    /// - Returns: one result per record, in their order.
    /// - Throws: ``DeliveryFailure``, or any error if nothing could be delivered. All records are then retried, and the subscription pauses,
    ///   after repeated failures for longer and longer, up to an hour. `hub status` shows the text of the error; it must not contain a health
    ///   value or a secret.
    func deliver(
        _ records: [DeliveredRecord], for want: Want, _ hub: PluginContext
    ) async throws -> [DeliveryResult]
}

extension SinkPlugin {
    /// Waits until the plugin has to stop, because the hub starts the deliveries.
    public func run(_ hub: PluginContext) async throws { await hub.untilStopped() }

    /// Does nothing: in this mode the plugin ends when all deliverable records are delivered.
    public func once(_ hub: PluginContext) async throws {}
}

/// A durable subscription: its records and its starting point.
public struct Want: Hashable, Sendable {
    /// The starting point of a new subscription: `.beginning`, `.now`, or `.after` a cursor.
    public typealias Start = WantRequest.Start
    /// The kinds of records to choose from.
    public typealias Kind = QueryRequest.Kind

    /// The name within the instance: 1 to 64 letters, digits, `_`, `-` and `.`, beginning with a letter or digit.
    public var name: String
    /// Type ids; `nil` for all types that the instance may read.
    public var types: [String]?
    /// `nil` for samples of every kind; to receive days, which may be carried over from another day, write `[.day]`.
    public var kinds: [Kind]?
    /// Names or uids of persons; `nil` for all persons whose records the instance may read.
    public var persons: [String]?
    /// The account at the target; records that came from this account are not delivered to it.
    public var account: String?
    /// The starting point if the name is new.
    public var start: Start

    /// Creates a subscription; an invalid or duplicate name ends the plugin with ``PluginExit/manifest``.
    ///
    /// `start` has no default, because it decides between the delivery of years of records and of none.
    public init(
        _ name: String, types: [String]? = nil, kinds: [Kind]? = nil, persons: [String]? = nil,
        account: String? = nil, start: Start
    ) {
        (self.name, self.types, self.kinds, self.persons) = (name, types, kinds, persons)
        (self.account, self.start) = (account, start)
    }
}

/// A record that the hub delivers.
public struct DeliveredRecord: Hashable, Sendable {
    /// The record with all data the hub has about it: number, sequence, person, canonical value.
    public let stored: StoredRecord
    /// The record exactly as the hub wrote it, as one line of canonical JSON.
    public let json: String
    /// Identifies the version for all time: after a restore, sequence numbers start again in another epoch.
    ///
    /// A sink that remembers its deliveries uses this as the key.
    public let version: Cursor

    /// Creates a record from a delivery of the hub; tests of sinks create their own.
    ///
    /// - Parameters:
    ///   - stored: the decoded `json`.
    ///   - epoch: the epoch of the store from which the record came.
    ///   - json: the record as the hub writes it.
    public init(_ stored: StoredRecord, epoch: String, json: String) {
        (self.stored, self.json) = (stored, json)
        version = Cursor(epoch: epoch, sequence: stored.sequence)
    }

    /// The hub's number of the identity, stable until a restore.
    public var number: Int64 { stored.number }
    /// The version's place in its epoch.
    public var sequence: Int64 { stored.sequence }
    /// The type of the record; for a retraction, the type of the retracted record.
    public var type: TypeID { stored.type }
    /// The person to whom the record belongs.
    public var person: Person? { stored.assignment.person }
    /// The sample, day or retraction, in the unit of its source.
    public var record: Record { stored.record }
}

/// The reason why a whole delivery failed.
public struct DeliveryFailure: Error, Hashable, Sendable, CustomStringConvertible {
    enum Kind: Hashable { case retry(Duration?), refused, unauthorized }
    let kind: Kind
    /// A sentence for `hub status`, without health values and secrets.
    public let reason: String

    /// The reason.
    public var description: String { reason }

    /// The target is unreachable or asks to wait; without `after` PluginKit chooses the delay, which grows each time.
    public static func retry(after: Duration? = nil, _ reason: String) -> DeliveryFailure {
        DeliveryFailure(kind: .retry(after), reason: reason)
    }

    /// The target rejects all of these records for good.
    public static func refused(_ reason: String) -> DeliveryFailure { DeliveryFailure(kind: .refused, reason: reason) }

    /// The log-in at the target has failed; the hub delivers nothing more until a person has repaired it.
    public static func unauthorized(_ reason: String) -> DeliveryFailure {
        DeliveryFailure(kind: .unauthorized, reason: reason)
    }
}
