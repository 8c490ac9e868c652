public import Samples

/// WELCOME: the hub opens a session (Protocol §4.2).
public struct Welcome: Hashable, Sendable {
    /// The major version that both sides will speak.
    public var version: Int
    /// The hub's name for this session, for logs.
    public var session: String
    /// The hub's permanent random id.
    public var hub: String
    public var epoch: String
    /// The newest sequence.
    public var head: Int64
    public var instance: String
    public var plugin: String
    public var grants: Grants
    public var limits: Limits
    /// The initial credit of the client.
    public var credit: Credit
    public var heartbeat: Heartbeat
    /// The plugin's own settings as a JSON object, with secrets in plain text; no other message has them.
    public var settings: RawJSON
    public var persons: [PersonEntry]
    /// `system` or `START@RATE`, see ``HubClock``.
    public var clock: String
    /// The time at which it was sent, by the hub's clock.
    public var time: Timestamp
    /// The address of the feed for this peer.
    public var feed: String
    /// The client verbs that this hub serves; verbs of a later version are omitted.
    public var serves: [Verb]

    public init(
        version: Int = 1, session: String, hub: String, epoch: String, head: Int64, instance: String, plugin: String,
        grants: Grants = Grants(), limits: Limits = Limits(), credit: Credit = .window,
        heartbeat: Heartbeat = Heartbeat(), settings: RawJSON = .emptyObject, persons: [PersonEntry] = [],
        clock: String = "system", time: Timestamp, feed: String, serves: [Verb]
    ) {
        (self.version, self.session, self.hub, self.epoch, self.head) = (version, session, hub, epoch, head)
        (self.instance, self.plugin, self.grants, self.limits, self.credit) = (instance, plugin, grants, limits, credit)
        (self.heartbeat, self.settings, self.persons, self.clock) = (heartbeat, settings, persons, clock)
        (self.time, self.feed, self.serves) = (time, feed, serves)
    }
}

extension Welcome: BodyCoding {
    init(reading object: ObjectReader) throws(WireError) {
        version = Int(try object.integer("protocol", in: 1...1_000))
        session = try object.text("session")
        hub = try object.text("hub")
        epoch = try object.name("epoch", "eight characters a–z and 2–7") { Cursor.isEpoch($0) }
        head = try object.integer("head")
        instance = try object.text("instance")
        plugin = try object.text("plugin")
        grants = try object.object("grants")
        limits = try object.object("limits")
        credit = try object.object("credit")
        heartbeat = try object.object("heartbeat")
        settings = try object.rawObject("settings")
        persons = try object.objects("persons")
        clock = try object.text("clock")
        guard let time = try object.timeIfPresent("time") else { throw object.fault("time", "a time", nil) }
        self.time = time
        feed = try object.text("feed")
        serves = try object.texts("serves").compactMap(Verb.init(rawValue:))
    }

    func write(to body: inout ObjectWriter) {
        body.member("protocol", integer: Int64(version))
        body.member("session", text: session)
        body.member("hub", text: hub)
        body.member("epoch", text: epoch)
        body.member("head", integer: head)
        body.member("instance", text: instance)
        body.member("plugin", text: plugin)
        body.member("grants", object: grants)
        body.member("limits", object: limits)
        body.member("credit", object: credit)
        body.member("heartbeat", object: heartbeat)
        body.member("settings", raw: settings)
        body.member("persons", objects: persons)
        body.member("clock", text: clock)
        body.member("time", time: time)
        body.member("feed", text: feed)
        body.member("serves", texts: serves.map(\.rawValue))
    }
}
