/// STOP: finish the work in progress, send BYE and exit (Protocol §4.4).
public struct Stop: Hashable, Sendable {
    public var reason: String
    /// Milliseconds from now.
    public var deadline: Int64

    public init(reason: String, deadline: Int64) {
        (self.reason, self.deadline) = (reason, deadline)
    }
}

extension Stop: BodyCoding {
    init(reading object: ObjectReader) throws(WireError) {
        self.init(reason: try object.text("reason"), deadline: try object.integer("deadline"))
    }

    func write(to body: inout ObjectWriter) {
        body.member("reason", text: reason)
        body.member("deadline", integer: deadline)
    }
}

/// BYE: the session ends; the other side answers with BYE after its outstanding answers (R4.19).
public struct Bye: Hashable, Sendable {
    public var reason: String?

    public init(reason: String? = nil) { self.reason = reason }
}

extension Bye: BodyCoding {
    init(reading object: ObjectReader) throws(WireError) { reason = try object.textIfPresent("reason") }

    func write(to body: inout ObjectWriter) { body.member("reason", text: reason) }
}
