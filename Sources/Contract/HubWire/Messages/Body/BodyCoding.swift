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
