import JSON

/// Limits on the contents of a body, checked before any of it is read.
enum BodyBounds {
    /// Maximum number of members of an object; apps use at most some dozens.
    static let maximumMembers = 10_000
    /// Maximum length of a member's name in bytes, as written.
    ///
    /// The name is part of the path of everything below it, which an answer may repeat.
    static let maximumName = 1_024

    /// Counts the elements of all arrays and the members of each object, and measures their names.
    ///
    /// - Parameter root: the scanned body, so that its syntax is not checked again.
    /// - Throws: ``PhoneError`` if the body exceeds a limit.
    static func check(_ root: JSONValue, in bytes: UnsafeRawBufferPointer) throws(PhoneError) {
        /// The number of commas of each open object; -1 for each open array.
        var open: [Int] = []
        var (items, isFirst) = (0, false)
        var position = root.start
        while position < root.end {
            let byte = bytes[position]
            position += 1
            guard byte > 0x20 else { continue }
            if isFirst {
                if byte != UInt8(ascii: "]") { items += 1 }
                isFirst = false
            }
            switch byte {
            case UInt8(ascii: "\""):
                let start = position
                while bytes[position] != UInt8(ascii: "\"") { position += bytes[position] == 0x5C ? 2 : 1 }
                let length = position - start
                position += 1
                guard length > maximumName else { continue }
                while position < root.end, bytes[position] <= 0x20 { position += 1 }
                guard position >= root.end || bytes[position] != UInt8(ascii: ":") else {
                    throw PhoneError(.size, "a member has a name of more than \(maximumName) bytes")
                }
            case UInt8(ascii: "["):
                open.append(-1)
                isFirst = true
            case UInt8(ascii: "{"): open.append(0)
            case UInt8(ascii: "]"), UInt8(ascii: "}"): open.removeLast()
            case UInt8(ascii: ","):
                let last = open.count - 1
                if open[last] < 0 { items += 1 } else { open[last] += 1 }
                guard open[last] < maximumMembers else {
                    throw PhoneError(.size, "an object has more than \(maximumMembers) members")
                }
            default: break
            }
            guard items <= PhoneBody.maximumPoints else { throw tooMany }
        }
    }

    /// Counts the lines of a text.
    static func checkLines(_ bytes: UnsafeRawBufferPointer) throws(PhoneError) {
        var lines = 1
        for byte in bytes where byte == 0x0A { lines += 1 }
        guard lines <= PhoneBody.maximumPoints else { throw tooMany }
    }

    private static var tooMany: PhoneError {
        PhoneError(
            .size,
            "more than \(PhoneBody.maximumPoints) items in one body: send shorter periods, or turn on batch requests in the app"
        )
    }
}
