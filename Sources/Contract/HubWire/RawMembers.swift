import JSON

/// Splits JSON into parts without changing their bytes.
package enum RawMembers {
    /// The members of an object; if two have the same name, the last.
    ///
    /// Empty for anything but an object.
    package static func members(of bytes: ArraySlice<UInt8>) -> [String: ArraySlice<UInt8>] {
        var members: [String: ArraySlice<UInt8>] = [:]
        walk(bytes, open: UInt8(ascii: "{")) { scanner, raw throws(JSONSyntaxError) in
            let name = JSONText.string(try scanner.name(), in: raw) ?? ""
            let value = try scanner.value()
            members[name] = bytes[bytes.startIndex + value.start..<bytes.startIndex + value.end]
        }
        return members
    }

    /// The elements of an array.
    ///
    /// Empty for anything but an array.
    package static func elements(of bytes: ArraySlice<UInt8>) -> [ArraySlice<UInt8>] {
        var elements: [ArraySlice<UInt8>] = []
        walk(bytes, open: UInt8(ascii: "[")) { scanner, _ throws(JSONSyntaxError) in
            let value = try scanner.value()
            elements.append(bytes[bytes.startIndex + value.start..<bytes.startIndex + value.end])
        }
        return elements
    }

    private static func walk(
        _ bytes: ArraySlice<UInt8>, open: UInt8,
        _ item: (inout JSONScanner, UnsafeRawBufferPointer) throws(JSONSyntaxError) -> Void
    ) {
        bytes.withUnsafeBytes { raw in
            guard var scanner = try? JSONScanner(raw) else { return }
            scanner.skipSpace()
            guard scanner.take(open) else { return }
            scanner.skipSpace()
            repeat {
                scanner.skipSpace()
                guard (try? item(&scanner, raw)) != nil else { return }
                scanner.skipSpace()
            } while scanner.take(UInt8(ascii: ","))
        }
    }
}
