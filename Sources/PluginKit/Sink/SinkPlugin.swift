public import HubWire
public import Samples

/// A plugin that takes records: a cloud, a file, a display.
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
/// The hub keeps, for each subscription and record, whether it was delivered; a sink keeps nothing. After a crash of either side
/// what was not answered is delivered again: a repeat of the same record and sequence must be harmless (R10.6). One plugin may be
/// a source as well; a sink that only delivers needs no ``Plugin/run(_:)``.
public protocol SinkPlugin: Plugin {
    /// What it wants; called when the settings are known and before the first delivery, and again for each
    /// ``PluginContext/renewWants()``.
    ///
    /// Also the place to open what ``deliver(_:for:_:)`` writes to. At most 16, their names unique: the hub knows a subscription
    /// by the instance and this name, so that a new name is a new subscription. None at all where nothing is to be delivered yet, or where
    /// the plugin is a ``SourcePlugin`` as well, whose settings say that it gives and does not take.
    /// - Throws: as ``Plugin/run(_:)``.
    func wants(_ hub: PluginContext) async throws -> [Want]

    /// Hands records over, in the order of their sequence, and says what became of each.
    ///
    /// At most `deliveriesAtOnce` of the manifest's `SinkAbilities` run at a time for a subscription; one identity is never in two
    /// of them. When the plugin is to stop, what has begun is finished first.
    /// - Returns: a result per record, in their order.
    /// - Throws: ``DeliveryFailure``, or any error when nothing could be delivered: all records are retried, and the subscription
    ///   rests, after repeated failures longer and longer up to an hour. The text of the error is shown in `hub status`; it must
    ///   hold no health value and no secret.
    func deliver(
        _ records: [DeliveredRecord], for want: Want, _ hub: PluginContext
    ) async throws -> [DeliveryResult]
}

extension SinkPlugin {
    /// Waits until the plugin is to stop: deliveries come by themselves.
    public func run(_ hub: PluginContext) async throws { await hub.untilStopped() }

    /// Does nothing: in this mode the plugin ends when everything that can be delivered now is.
    public func once(_ hub: PluginContext) async throws {}
}

/// A durable subscription: which records, from when on.
public struct Want: Hashable, Sendable {
    /// Where a new subscription begins: `.beginning`, `.now`, or `.after` a cursor.
    public typealias Start = WantRequest.Start
    /// The kinds of records that can be named.
    public typealias Kind = QueryRequest.Kind

    /// Names it within the instance, 1 to 64 letters, digits, `_`, `-` and `.`, a letter or digit first.
    public var name: String
    /// Type ids; `nil` for all that the instance may read.
    public var types: [String]?
    /// `nil` for samples of every kind; days, which may be carried from another day, are named: `[.day]`.
    public var kinds: [Kind]?
    /// Names or uids of persons; `nil` for all whose records the instance may read.
    public var persons: [String]?
    /// The account at the target: what came from it is not delivered to it.
    public var account: String?
    /// Where it begins when the name is new.
    public var start: Start

    /// A subscription; a name that cannot be, or is there twice, ends the plugin with ``PluginExit/manifest``.
    ///
    /// `start` has no default: it decides whether years of records come, or none.
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
    /// With everything the hub knows of it: number, sequence, person, canonical value.
    public let stored: StoredRecord
    /// The record exactly as the hub wrote it: one line of JSON in canonical form.
    public let json: String
    /// Names the version, and no other that the hub ever has: after a restore sequences begin again, in another epoch.
    ///
    /// What a sink remembers of its deliveries, it remembers by this.
    public let version: Cursor

    /// PluginKit makes it of what the hub delivers; tests of sinks make their own.
    ///
    /// - Parameters:
    ///   - stored: what `json` says.
    ///   - epoch: of the store that it came from.
    ///   - json: the record as the hub writes it.
    public init(_ stored: StoredRecord, epoch: String, json: String) {
        (self.stored, self.json) = (stored, json)
        version = Cursor(epoch: epoch, sequence: stored.sequence)
    }

    /// The hub's number of the identity; stable until a restore.
    public var number: Int64 { stored.number }
    /// The version's place in its epoch.
    public var sequence: Int64 { stored.sequence }
    /// What it measures; of a retraction the type of what is taken back.
    public var type: TypeID { stored.type }
    /// Whose it is.
    public var person: Person? { stored.assignment.person }
    /// The sample, day or retraction, in the unit of its source.
    public var record: Record { stored.record }
}

/// Why a whole delivery did not succeed.
public struct DeliveryFailure: Error, Hashable, Sendable, CustomStringConvertible {
    enum Kind: Hashable { case retry(Duration?), refused, unauthorized }
    let kind: Kind
    /// A sentence for `hub status`, without health values and secrets.
    public let reason: String

    /// The reason.
    public var description: String { reason }

    /// The target is away or wants nothing for a while; without `after` PluginKit chooses, longer each time.
    public static func retry(after: Duration? = nil, _ reason: String) -> DeliveryFailure {
        DeliveryFailure(kind: .retry(after), reason: reason)
    }

    /// The target will never take any of these records.
    public static func refused(_ reason: String) -> DeliveryFailure { DeliveryFailure(kind: .refused, reason: reason) }

    /// The log-in at the target has failed: the hub delivers nothing more until a person has repaired it.
    public static func unauthorized(_ reason: String) -> DeliveryFailure {
        DeliveryFailure(kind: .unauthorized, reason: reason)
    }
}
