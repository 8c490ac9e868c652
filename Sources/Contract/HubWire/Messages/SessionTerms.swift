/// The amount that a client may send: records, and bytes of all frames after the verb (Protocol §4.3).
public struct Credit: Hashable, Sendable {
    public var records: Int
    public var bytes: Int

    public init(records: Int, bytes: Int) {
        (self.records, self.bytes) = (records, bytes)
    }

    public static let zero = Credit(records: 0, bytes: 0)
    /// The initial credit of a session, unless the hub sets another.
    public static let window = Credit(records: 10_000, bytes: 8_388_608)

    /// Whether it is enough for `cost`, in records and in bytes.
    public func covers(_ cost: Credit) -> Bool { records >= cost.records && bytes >= cost.bytes }

    public static func + (left: Credit, right: Credit) -> Credit {
        Credit(records: left.records + right.records, bytes: left.bytes + right.bytes)
    }

    public static func - (left: Credit, right: Credit) -> Credit {
        Credit(records: left.records - right.records, bytes: left.bytes - right.bytes)
    }

    /// The smaller number of records and the smaller number of bytes.
    public static func lesser(_ left: Credit, _ right: Credit) -> Credit {
        Credit(records: min(left.records, right.records), bytes: min(left.bytes, right.bytes))
    }
}

extension Credit: BodyCoding {
    init(reading object: ObjectReader) throws(WireError) {
        self.init(records: Int(try object.integer("records")), bytes: Int(try object.integer("bytes")))
    }

    func write(to body: inout ObjectWriter) {
        body.member("records", integer: Int64(records))
        body.member("bytes", integer: Int64(bytes))
    }
}

/// `limits` of WELCOME; the defaults are this hub's (Protocol §4.2).
public struct Limits: Hashable, Sendable {
    /// Maximum size of a frame; a larger one ends the connection.
    public var frameBytes = 1_048_576
    /// Maximum number of records in a batch.
    public var batchRecords = 1_000
    public var recordBytes = 65_536
    public var keyBytes = 64
    /// Maximum size of one payload frame.
    public var payloadBytes = 262_144
    /// Maximum number of open queries in a session.
    public var queries = 2
    /// Maximum number of records in a page.
    public var pageRecords = 1_000
    /// Approximate size of a page in bytes.
    public var pageBytes = 1_048_576
    /// Maximum size of the body of a LIVE or EVENT.
    public var passingBytes = 8_192
    /// Maximum number of LIVE and EVENT messages together, each second.
    public var livePerSecond = 50
    /// Maximum number of sessions of the hub.
    public var sessions = 256
    /// Maximum number of subscriptions of an instance.
    public var wants = 16

    public init() {}
}

extension Limits: BodyCoding {
    init(reading object: ObjectReader) throws(WireError) {
        func count(_ name: String) throws(WireError) -> Int { Int(try object.integer(name, in: 1...Int64(Int32.max))) }
        frameBytes = try count("frameBytes")
        batchRecords = try count("batchRecords")
        recordBytes = try count("recordBytes")
        keyBytes = try count("keyBytes")
        payloadBytes = try count("payloadBytes")
        queries = try count("queries")
        pageRecords = try count("pageRecords")
        pageBytes = try count("pageBytes")
        livePerSecond = try count("livePerSecond")
        sessions = try count("sessions")
        // Older hubs do not send these.
        if object.value("passingBytes") != nil { passingBytes = try count("passingBytes") }
        if object.value("wants") != nil { wants = try count("wants") }
    }

    func write(to body: inout ObjectWriter) {
        body.member("frameBytes", integer: Int64(frameBytes))
        body.member("batchRecords", integer: Int64(batchRecords))
        body.member("recordBytes", integer: Int64(recordBytes))
        body.member("keyBytes", integer: Int64(keyBytes))
        body.member("payloadBytes", integer: Int64(payloadBytes))
        body.member("queries", integer: Int64(queries))
        body.member("pageRecords", integer: Int64(pageRecords))
        body.member("pageBytes", integer: Int64(pageBytes))
        body.member("passingBytes", integer: Int64(passingBytes))
        body.member("livePerSecond", integer: Int64(livePerSecond))
        body.member("sessions", integer: Int64(sessions))
        body.member("wants", integer: Int64(wants))
    }
}

/// The limits on silence, in milliseconds (Protocol §4.4).
public struct Heartbeat: Hashable, Sendable {
    /// The silence after which a client sends PING.
    public var interval: Int64
    /// The silence after which the session is over, for both sides.
    public var timeout: Int64

    public init(interval: Int64 = 5_000, timeout: Int64 = 20_000) {
        (self.interval, self.timeout) = (interval, timeout)
    }
}

extension Heartbeat: BodyCoding {
    init(reading object: ObjectReader) throws(WireError) {
        self.init(
            interval: try object.integer("interval", in: 1...86_400_000),
            timeout: try object.integer("timeout", in: 1...86_400_000))
    }

    func write(to body: inout ObjectWriter) {
        body.member("interval", integer: interval)
        body.member("timeout", integer: timeout)
    }
}

/// The types and persons that an instance asks to read, and those that it may write.
public struct Grants: Hashable, Sendable {
    /// Types and persons by name; `*` means all.
    public struct Scope: Hashable, Sendable {
        public var types: [String]
        /// Types that are asked for but were denied, although `types` may cover them; only for ``Grants/write``.
        public var denied: [String]
        public var persons: [String]

        public init(types: [String] = ["*"], denied: [String] = [], persons: [String] = ["*"]) {
            (self.types, self.denied, self.persons) = (types, denied, persons)
        }

        /// Whether it includes records of the type with this id.
        public func allows(type: String) -> Bool {
            (types.contains("*") || types.contains(type)) && !denied.contains(type)
        }
        /// The decision about the type with this id: granted, denied or neither.
        public func status(of type: String) -> PermissionState {
            if allows(type: type) { return .granted }
            return denied.contains(type) || denied.contains(TypePermissions.all) ? .denied : .notDetermined
        }

        /// Whether it includes records of the person with this name.
        public func allows(person: String) -> Bool { persons.contains("*") || persons.contains(person) }
    }

    /// Types asked for; does not say whether they are granted: for a type that is not, the plugin sees only its own records.
    public var read: Scope
    public var write: Scope
    /// The owner's rights that it has, as words of ``OwnerRight``; empty at the owner's endpoint, which has all of them.
    public var owner: [String]

    /// Grants everything unless arguments say otherwise, but none of the owner's rights.
    public init(read: Scope = Scope(), write: Scope = Scope(), owner: [String] = []) {
        (self.read, self.write, self.owner) = (read, write, owner)
    }
}

extension Grants: BodyCoding {
    init(reading object: ObjectReader) throws(WireError) {
        self.init(
            read: try object.object("read"), write: try object.object("write"),
            owner: try object.textsIfPresent("owner") ?? [])
    }

    func write(to body: inout ObjectWriter) {
        body.member("read", object: read)
        body.member("write", object: write)
        if !owner.isEmpty { body.member("owner", texts: owner) }
    }
}

extension Grants.Scope: BodyCoding {
    init(reading object: ObjectReader) throws(WireError) {
        self.init(
            types: try object.texts("types"), denied: try object.textsIfPresent("denied") ?? [],
            persons: try object.texts("persons"))
    }

    func write(to body: inout ObjectWriter) {
        body.member("types", texts: types)
        if !denied.isEmpty { body.member("denied", texts: denied) }
        body.member("persons", texts: persons)
    }
}
