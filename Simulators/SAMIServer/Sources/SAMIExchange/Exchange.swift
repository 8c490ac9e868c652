import Foundation
import GRDB
import Platform
public import WebFaults

/// A SAMI-compatible data exchange: users, their devices and the devices' messages, with the calls of the reference.
///
/// It may be used from any thread. Its state is one SQLite file; the counters of the rate limits are not stored.
public final class Exchange: Sendable {
    public struct Options: Sendable {
        public var dialect = Dialect.sami
        /// The state file; `nil` keeps the data in memory.
        public var state: String?
        public var hasRateLimits = true
        /// The limits of calls per minute and day for each caller and all kinds of calls; `nil` for SAMI's own numbers.
        public var limits: (minute: Int, day: Int)?
        /// How far in the future a message may be dated, in milliseconds.
        public var futureGrace: Int64 = 86_400_000
        /// The lifetime of a user's token, in seconds; an application's token lives half as long.
        public var tokenLife: Int64 = 1_209_600
        /// How long an accepted message stays hidden, in milliseconds.
        public var deliveryDelay: Int64 = 0
        /// Whether analytics ignore messages that are less than a minute old.
        public var analyticsLag = false
        /// Whether a device type is also found by a prefix of its name.
        public var findsByPrefix = false
        /// Whether a logout revokes the tokens that the user gave this client.
        public var logoutRevokes = true
        /// Seconds between two pings on a socket.
        public var pingSeconds = 30.0
        /// The number of seconds within which a device must register on a socket.
        public var registrationSeconds = 30.0
        /// The redirect address of the first application.
        ///
        /// `nil` keeps the address in the state file, which is ``Fixtures/redirect`` at first.
        public var redirect: String?

        public init() {}
    }

    /// Names of faults that only this service can produce.
    public static let forms = ["expired", "silent", "twice"]

    let options: Options
    let database: DatabaseQueue
    let clock: SettableClock
    let faults: FaultQueue
    let limits: RateLimits
    let sockets = SocketRegistry()

    public init(_ options: Options, clock: SettableClock, faults: FaultQueue) throws {
        (self.options, self.clock, self.faults) = (options, clock, faults)
        limits = RateLimits(
            isOn: options.hasRateLimits, own: options.limits.map { RateLimits.Own(minute: $0.minute, day: $0.day) })
        var configuration = Configuration()
        configuration.prepareDatabase { database in
            try database.execute(sql: "PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL")
        }
        if let state = options.state { try PrivateFile.prepare(state) }
        database =
            try options.state.map { try DatabaseQueue(path: $0, configuration: configuration) }
            ?? DatabaseQueue(configuration: configuration)
        try ExchangeSchema.migrator.migrate(database)
        try database.write { try seed($0) }
    }

    /// Milliseconds since 1970, by the exchange's clock.
    var now: Int64 { clock.now() / 1000 }

    var dialect: Dialect { options.dialect }

    // MARK: - Callers

    /// - Parameter header: the value of `Authorization`.
    /// - Throws: ``APIError`` 401 if it identifies no user or application.
    func caller(_ header: String?) throws -> Caller {
        let parts = (header ?? "").split(separator: " ")
        guard parts.count == 2, parts[0].lowercased() == "bearer" else { throw APIError.unauthorized }
        guard let caller = try database.read({ try self.caller(token: String(parts[1]), $0) }) else {
            throw APIError.unauthorized
        }
        return caller
    }

    func caller(token: String, _ database: Database) throws -> Caller? {
        guard let row = try TokenRow.fetchOne(database, key: token), row.expiresOn.map({ $0 > now }) ?? true else {
            return nil
        }
        let application = try row.aid.flatMap { try ApplicationRow.fetchOne(database, key: $0) }
        let kind: Caller.Kind
        switch (row.kind, row.uid, row.aid, row.did) {
        case ("user", let uid?, let aid?, _): kind = .user(uid, application: aid)
        case ("application", _, let aid?, _): kind = .application(aid)
        case ("device", let uid?, _, let did?): kind = .device(did, user: uid)
        default: return nil
        }
        return Caller(token: token, kind: kind, scope: row.scope, rights: application?.rights ?? [:])
    }

    /// Checks that the caller may access this user's data.
    func require(_ caller: Caller, mayActFor uid: String, _ database: Database) throws {
        guard try UserRow.exists(database, key: uid) else { throw APIError.noUser }
        switch caller.kind {
        case .user(let own, _), .device(_, let own):
            guard own == uid else { throw APIError.forbidden("this is another user") }
        case .application(let aid):
            let hasConsent = try Bool.fetchOne(
                database, sql: "SELECT EXISTS (SELECT 1 FROM consent WHERE uid = ? AND aid = ?)", arguments: [uid, aid])
            guard hasConsent == true else { throw APIError.forbidden("the user has not allowed this application") }
        }
    }

    /// The device, if the caller has this right for it.
    func device(
        _ did: String, for caller: Caller, _ right: Caller.Right, _ database: Database
    ) throws -> DeviceRow {
        guard let device = try DeviceRow.filter(sql: "id = ?", arguments: [did]).fetchOne(database) else {
            throw APIError.notFound
        }
        if case .device(let own, _) = caller.kind, own != did { throw APIError.forbidden("this is another device") }
        try require(caller, mayActFor: device.uid, database)
        guard caller.may(right, device.dtid) else {
            throw APIError.forbidden("\(right.rawValue.uppercased()) of device type \(device.dtid)")
        }
        return device
    }

    // MARK: - Manifests

    func latestManifest(_ dtid: String, _ database: Database) throws -> Int64 {
        try Int64.fetchOne(
            database, sql: "SELECT max(version) FROM manifest WHERE dtid = ?", arguments: [dtid]) ?? 0
    }

    func manifest(_ dtid: String, version: Int64, _ database: Database) throws -> (
        ExchangeManifest, properties: String
    )? {
        let row = try Row.fetchOne(
            database, sql: "SELECT properties, undeclared FROM manifest WHERE dtid = ? AND version = ?",
            arguments: [dtid, version])
        guard let row else { return nil }
        let properties: String = row["properties"]
        let manifest = ExchangeManifest(
            version: version, properties: .written(properties), undeclared: .written(row["undeclared"]))
        return (manifest, properties)
    }

    /// The manifest that normalises a device's messages.
    func manifest(of device: DeviceRow, _ database: Database) throws -> ExchangeManifest? {
        let version =
            device.policy == "DEVICE" ? device.manifestVersion : try latestManifest(device.dtid, database)
        return try manifest(device.dtid, version: version, database)?.0
    }
}
