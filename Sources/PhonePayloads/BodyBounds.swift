import JSON

/// How much a body may have of everything, found before anything of it is read.
enum BodyBounds {
    /// Members of an object at most: no app has more than some dozens.
    static let maximumMembers = 10_000
    /// Bytes of a member's name, as it is written: it stands in the place of everything below it, which an answer may tell a hundred times.
    static let maximumName = 1_024

    /// Counts the elements of all arrays, and the members of each object, and measures their names.
    ///
    /// - Parameter root: what was scanned before, so that nothing is checked again.
    /// - Throws: ``PhoneError`` where there are more than a body may have.
    static func check(_ root: JSONValue, in bytes: UnsafeRawBufferPointer) throws(PhoneError) {
        /// Of each object that is open its commas, of each array -1.
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
