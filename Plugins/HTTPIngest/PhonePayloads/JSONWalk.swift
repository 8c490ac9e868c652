import JSON
import Samples

/// The members of an object, read in place without a tree, because a body has hundreds of thousands of them.
struct Members {
    let bytes: UnsafeRawBufferPointer
    private(set) var all: [(name: JSONValue, value: JSONValue)] = []

    /// Reads the members of an object that was scanned before; any other value has no members.
    init(_ value: JSONValue, in bytes: UnsafeRawBufferPointer) {
        self.bytes = bytes
        all.reserveCapacity(4)
        read(value)
    }

    /// Reads the members of a body.
    ///
    /// - Parameter name: a member that the body must have.
    /// - Throws: ``PhoneError`` if it is not an object, or if two members share a name.
    init(body: JSONValue, with name: StaticString, in bytes: UnsafeRawBufferPointer) throws(PhoneError) {
        guard body.kind == .object else { throw PhoneError(.form, "the body is an object with \(name)") }
        self.init(body, in: bytes)
        if let name = repeatedName { throw PhoneError(.json, "the member \(name.prefix(64)) stands there twice") }
    }

    /// Reads the members of an item of a body.
    ///
    /// - Throws: ``ItemError`` if it is not an object, or if two members share a name.
    init(item: JSONValue, in bytes: UnsafeRawBufferPointer) throws(ItemError) {
        guard item.kind == .object else { throw ItemError("json", "an object is expected") }
        self.init(item, in: bytes)
        try checkNames()
    }

    /// Reads another object and reuses the memory.
    mutating func read(_ value: JSONValue) {
        all.removeAll(keepingCapacity: true)
        guard value.kind == .object else { return }
        var scanner = JSONScanner(bytes, within: value)
        guard scanner.take(UInt8(ascii: "{")) else { return }
        scanner.skipSpace()
        while scanner.next == UInt8(ascii: "\"") {
            guard let name = try? scanner.name(), let value = try? scanner.value() else { return }
            all.append((name, value))
            scanner.skipSpace()
            guard scanner.take(UInt8(ascii: ",")) else { return }
            scanner.skipSpace()
        }
    }

    /// The value under a name that needs no escapes; if two members have the name, the first one.
    ///
    /// A `null` counts as absent.
    subscript(_ name: StaticString) -> JSONValue? {
        for member in all where named(member.name, name) {
            return member.value.kind == .null ? nil : member.value
        }
        return nil
    }

    func named(_ value: JSONValue, _ name: StaticString) -> Bool {
        let count = value.end - value.start - 2
        guard count == name.utf8CodeUnitCount else { return false }
        let start = value.start + 1
        for offset in 0..<count where bytes[start + offset] != name.utf8Start[offset] { return false }
        return true
    }

    /// A name that two members share; JSON readers disagree about which of them counts.
    var repeatedName: String? {
        if all.count > 16 { return repeatedOfMany }
        for (index, member) in all.enumerated() {
            for other in all[..<index] where isSame(member.name, other.name) {
                return JSONText.string(member.name, in: bytes) ?? "?"
            }
        }
        return nil
    }

    /// - Throws: ``ItemError`` if two members of the item share a name.
    func checkNames() throws(ItemError) {
        if let name = repeatedName { throw ItemError("json", "member \(name.prefix(64)) twice") }
    }

    /// Finds a repeated name in a single pass, because a sender may write any number of members.
    private var repeatedOfMany: String? {
        var names: Set<String> = []
        return all.lazy.map { JSONText.string($0.name, in: bytes) ?? "?" }.first { !names.insert($0).inserted }
    }

    private func isSame(_ left: JSONValue, _ right: JSONValue) -> Bool {
        if left.hasEscapes || right.hasEscapes {
            return JSONText.string(left, in: bytes) == JSONText.string(right, in: bytes)
        }
        let count = left.end - left.start
        guard count == right.end - right.start else { return false }
        for offset in 0..<count where bytes[left.start + offset] != bytes[right.start + offset] { return false }
        return true
    }

    /// The value under a name from a table.
    func value(named name: String) -> JSONValue? {
        all.first { JSONText.string($0.name, in: bytes) == name }.flatMap { $0.value.kind == .null ? nil : $0.value }
    }

    func text(named name: String) -> String? {
        value(named: name).flatMap { $0.kind == .string ? JSONText.string($0, in: bytes) : nil }
    }

    func text(_ name: StaticString) -> String? {
        self[name].flatMap { $0.kind == .string ? JSONText.string($0, in: bytes) : nil }
    }

    func time(_ name: StaticString) -> Timestamp? { text(name).flatMap(PhoneTime.read) }

    /// - Throws: ``ItemError`` if the member is missing, or no time.
    func instant(_ name: StaticString) throws(ItemError) -> Timestamp {
        guard let time = time(name) else { throw ItemError("time", "\(name) is missing, or no instant") }
        return time
    }

    func number(_ name: StaticString) -> Double? {
        self[name].flatMap { $0.kind == .number ? NumberReader.double($0, in: bytes) : nil }
    }

    /// The digits of a number as written.
    func digits(_ name: StaticString) -> String? {
        self[name].flatMap { $0.kind == .number ? JSONText.plain($0, bytes) : nil }
    }

    func truth(_ name: StaticString) -> Bool? {
        switch self[name]?.kind {
        case .true: true
        case .false: false
        default: nil
        }
    }

    /// The members of a member that is an object; empty for any other value.
    func object(_ name: StaticString) -> Members? {
        self[name].flatMap { $0.kind == .object ? Members($0, in: bytes) : nil }
    }

    /// The value as compact JSON.
    func json(_ value: JSONValue) -> String { JSONText.compact(value, in: bytes) }
}

extension JSONText {
    /// The bytes of a value as written.
    static func plain(_ value: JSONValue, _ bytes: UnsafeRawBufferPointer) -> String {
        plain(UnsafeRawBufferPointer(rebasing: bytes[value.start..<value.end]))
    }
}

/// Iterates over the elements of an array that was scanned before.
struct ArrayCursor {
    private var scanner: JSONScanner
    private var isOver = false
    /// The number of elements returned.
    private(set) var count = 0

    init(_ value: JSONValue, in bytes: UnsafeRawBufferPointer) {
        scanner = JSONScanner(bytes, within: value)
        isOver = value.kind != .array || !scanner.take(UInt8(ascii: "["))
    }

    mutating func next() -> JSONValue? {
        guard !isOver else { return nil }
        scanner.skipSpace()
        guard scanner.next != UInt8(ascii: "]"), let value = try? scanner.value() else {
            isOver = true
            return nil
        }
        count += 1
        scanner.skipSpace()
        isOver = !scanner.take(UInt8(ascii: ","))
        return value
    }
}

/// Writes the metadata of a record: a JSON object without absent members.
struct MetadataWriter {
    private var bytes: [UInt8] = [UInt8(ascii: "{")]

    /// Whether no member was added.
    var isEmpty: Bool { bytes.count == 1 }

    private mutating func name(_ name: String) {
        if bytes.count > 1 { bytes.append(UInt8(ascii: ",")) }
        bytes.append(quoted: name)
        bytes.append(UInt8(ascii: ":"))
    }

    mutating func add(_ name: String, text: String?) {
        guard let text else { return }
        self.name(name)
        bytes.append(quoted: text)
    }

    /// Adds JSON unchanged.
    mutating func add(_ name: String, json: String?) {
        guard let json else { return }
        self.name(name)
        bytes.append(json: json)
    }

    mutating func add(_ name: String, number: Double?) {
        guard let number else { return }
        self.name(name)
        NumberWriter.append(number, to: &bytes)
    }

    mutating func add(_ name: String, truth: Bool?) { add(name, json: truth.map { $0 ? "true" : "false" }) }

    /// Adds a quantity in HealthKit's form.
    mutating func add(_ name: String, _ value: Double, unit: String) {
        self.name(name)
        bytes.append(literal: "{\"value\":")
        NumberWriter.append(value, to: &bytes)
        bytes.append(literal: ",\"unit\":")
        bytes.append(quoted: unit)
        bytes.append(UInt8(ascii: "}"))
    }

    /// The object as text; `nil` if no member was added.
    var text: String? { isEmpty ? nil : String(decoding: bytes, as: UTF8.self) + "}" }
}
