import JSON
import Samples

/// A value that is sent as one JSON object: the body of a verb, or an object within one.
///
/// It is not `Codable`, because an ERROR must name the byte offset of a fault and the member's path (R3.3, R3.4), the last of two members
/// with the same name counts (R3.9), and parts of a body pass through byte for byte. `JSONDecoder` guarantees none of these.
protocol BodyCoding {
    init(reading object: ObjectReader) throws(WireError)
    func write(to body: inout ObjectWriter)
}

extension BodyCoding {
    /// The value as compact JSON.
    func encoded() -> [UInt8] {
        var body = ObjectWriter()
        write(to: &body)
        return body.finished()
    }

    /// Reads a whole body; `path` is the verb, for error messages.
    ///
    /// An error carries the body's `batch`, `id` or `delivery` as `ref`, and the subscription if it is about one.
    static func decoded(_ bytes: UnsafeRawBufferPointer, path: String) throws(WireError) -> Self {
        let object = try ObjectReader(bytes, path: path)
        do throws(WireError) {
            return try Self(reading: object)
        } catch {
            var error = error
            error.ref = error.ref ?? object.reference
            error.want = error.want ?? object.subscription
            throw error
        }
    }
}

/// Writes one JSON object without white space; it omits absent optionals.
struct ObjectWriter {
    private(set) var bytes: [UInt8] = []

    /// - Parameter room: the number of bytes to reserve; the buffer grows if needed.
    init(room: Int = 256) {
        bytes.reserveCapacity(room)
        bytes.append(UInt8(ascii: "{"))
    }

    /// The whole object.
    consuming func finished() -> [UInt8] {
        bytes.append(UInt8(ascii: "}"))
        return bytes
    }

    private mutating func name(_ name: String) {
        if bytes.last != UInt8(ascii: "{") { bytes.append(UInt8(ascii: ",")) }
        bytes.append(quoted: name)
        bytes.append(UInt8(ascii: ":"))
    }

    mutating func member(_ name: String, text: String?) {
        guard let text else { return }
        self.name(name)
        bytes.append(quoted: text)
    }

    mutating func member(_ name: String, integer: Int64?) {
        guard let integer else { return }
        self.name(name)
        NumberWriter.append(integer, to: &bytes)
    }

    /// Writes two integer members; each literal has everything before its number.
    ///
    /// It is meant for members that a message has a thousand times.
    mutating func members(
        _ beforeFirst: StaticString, _ first: Int64, _ beforeSecond: StaticString, _ second: Int64
    ) {
        if bytes.last != UInt8(ascii: "{") { bytes.append(UInt8(ascii: ",")) }
        bytes.append(literal: beforeFirst)
        NumberWriter.append(first, to: &bytes)
        bytes.append(literal: beforeSecond)
        NumberWriter.append(second, to: &bytes)
    }

    mutating func member(_ name: String, number: Double?) {
        guard let number else { return }
        self.name(name)
        NumberWriter.append(number, to: &bytes)
    }

    mutating func member(_ name: String, truth: Bool?) {
        guard let truth else { return }
        self.name(name)
        bytes.append(literal: truth ? "true" : "false")
    }

    mutating func member(_ name: String, raw: RawJSON?) {
        guard let raw else { return }
        self.name(name)
        bytes.append(contentsOf: raw.bytes)
    }

    mutating func member(_ name: String, time: Timestamp?) { member(name, text: time?.text) }

    mutating func member(_ name: String, object: (some BodyCoding)?) {
        guard let object else { return }
        self.name(name)
        bytes.append(UInt8(ascii: "{"))
        object.write(to: &self)
        bytes.append(UInt8(ascii: "}"))
    }

    mutating func member(_ name: String, texts: [String]?) {
        member(name, elements: texts) { $0.append(quoted: $1) }
    }

    mutating func member(_ name: String, integers: [Int64]?) {
        member(name, elements: integers) { NumberWriter.append($1, to: &$0) }
    }

    mutating func member(_ name: String, objects: [some BodyCoding]?) {
        guard let objects else { return }
        self.name(name)
        bytes.append(UInt8(ascii: "["))
        for (index, object) in objects.enumerated() {
            if index > 0 { bytes.append(UInt8(ascii: ",")) }
            bytes.append(UInt8(ascii: "{"))
            object.write(to: &self)
            bytes.append(UInt8(ascii: "}"))
        }
        bytes.append(UInt8(ascii: "]"))
    }

    mutating func member(_ name: String, records: RawRecords) {
        self.name(name)
        bytes.append(UInt8(ascii: "["))
        bytes.append(contentsOf: records.joined)
        bytes.append(UInt8(ascii: "]"))
    }

    private mutating func member<T>(_ name: String, elements: [T]?, _ append: (inout [UInt8], T) -> Void) {
        guard let elements else { return }
        self.name(name)
        bytes.append(UInt8(ascii: "["))
        for (index, element) in elements.enumerated() {
            if index > 0 { bytes.append(UInt8(ascii: ",")) }
            append(&bytes, element)
        }
        bytes.append(UInt8(ascii: "]"))
    }
}
