import JSON
import Samples

extension ObjectReader {
    func integer(_ value: JSONValue) -> Int64? {
        value.kind == .number ? NumberReader.integer(value, in: bytes) : nil
    }

    func string(_ value: JSONValue) -> String? {
        value.kind == .string ? JSONText.string(value, in: bytes) : nil
    }

    func elements(_ value: JSONValue) throws(WireError) -> [JSONValue]? {
        guard value.kind == .array else { return nil }
        do throws(JSONSyntaxError) {
            var scanner = JSONScanner(bytes, within: value)
            var elements: [JSONValue] = []
            try scanner.expect(UInt8(ascii: "["))
            scanner.skipSpace()
            if scanner.take(UInt8(ascii: "]")) { return elements }
            repeat {
                scanner.skipSpace()
                elements.append(try scanner.value())
                scanner.skipSpace()
            } while scanner.take(UInt8(ascii: ","))
            return elements
        } catch {
            throw WireError(.json, "\(path): \(error)")
        }
    }

    /// The elements of the member `name`; `nil` if it is not an array.
    ///
    /// - Parameters:
    ///   - allowed: a description of an allowed element, worded to follow "expected".
    ///   - read: reads an element; `nil` if it is not allowed.
    func elements<T>(
        of name: String, _ value: JSONValue, _ allowed: String, show: Disclosure = .text,
        _ read: (JSONValue) throws(WireError) -> T?
    ) throws(WireError) -> [T]? {
        guard let elements = try elements(value) else { return nil }
        var results: [T] = []
        results.reserveCapacity(elements.count)
        for (index, element) in elements.enumerated() {
            guard let result = try read(element) else { throw fault("\(name)[\(index)]", allowed, element, show: show) }
            results.append(result)
        }
        return results
    }

    func text(_ name: String, _ allowed: String = "a string") throws(WireError) -> String {
        try required(name, allowed, string)
    }

    func textIfPresent(_ name: String, _ allowed: String = "a string") throws(WireError) -> String? {
        try optional(name, allowed, string)
    }

    /// A string for which `isAllowed` is true.
    func name(_ name: String, _ allowed: String, where isAllowed: (String) -> Bool) throws(WireError) -> String {
        try required(name, allowed, show: .text) { value in string(value).flatMap { isAllowed($0) ? $0 : nil } }
    }

    /// One of the words of an enumeration.
    func word<T: RawRepresentable & CaseIterable>(
        _ name: String, as type: T.Type, code: WireError.Code = .field
    ) throws(WireError) -> T where T.RawValue == String {
        guard let value = value(name), let word = string(value).flatMap(T.init(rawValue:)) else {
            // An unknown word may have a special code; any other value has the wrong type.
            let code = value(name)?.kind == .string ? code : .field
            throw fault(name, oneOf(type), value(name), show: .text, code: code)
        }
        return word
    }

    func wordIfPresent<T: RawRepresentable & CaseIterable>(
        _ name: String, as type: T.Type
    ) throws(WireError) -> T? where T.RawValue == String {
        value(name) == nil ? nil : try word(name, as: type)
    }

    func oneOf<T: RawRepresentable & CaseIterable>(_ type: T.Type) -> String where T.RawValue == String {
        "one of " + type.allCases.map { "\"\($0.rawValue)\"" }.joined(separator: ", ")
    }

    func integer(
        _ name: String, in range: ClosedRange<Int64> = ObjectReader.safeIntegers
    ) throws(WireError) -> Int64 {
        func allowed() -> String {
            // Name the largest number that every JSON reader can hold only if a number was written.
            let isNumber = value(name)?.kind == .number
            return range.upperBound < Self.safeIntegers.upperBound || isNumber
                ? "an integer from \(range.lowerBound) to \(range.upperBound)" : "an integer from \(range.lowerBound)"
        }
        return try required(name, allowed(), show: .text) { value in
            integer(value).flatMap { range.contains($0) ? $0 : nil }
        }
    }

    func integerIfPresent(
        _ name: String, in range: ClosedRange<Int64> = ObjectReader.safeIntegers
    ) throws(WireError) -> Int64? {
        value(name) == nil ? nil : try integer(name, in: range)
    }

    /// - Parameter show: whether the reason may show the value; health values must not be shown.
    func numberIfPresent(
        _ name: String, in range: ClosedRange<Double>? = nil, show: Disclosure = .kind
    ) throws(WireError) -> Double? {
        func allowed() -> String {
            range.map { "a number from \($0.lowerBound) to \($0.upperBound)" }
                ?? "a number within the range of doubles"
        }
        return try optional(name, allowed(), show: show) { value in
            guard value.kind == .number, let number = NumberReader.double(value, in: bytes) else { return nil }
            return range.map { $0.contains(number) } ?? true ? number : nil
        }
    }

    func truth(_ name: String) throws(WireError) -> Bool {
        try required(name, "true or false") { value in
            switch value.kind {
            case .true: true
            case .false: false
            default: nil
            }
        }
    }

    func truthIfPresent(_ name: String) throws(WireError) -> Bool? { value(name) == nil ? nil : try truth(name) }

    /// An array of at least one string: an empty array would ask for nothing.
    func textsIfPresent(_ name: String) throws(WireError) -> [String]? {
        try optional(name, "an array of at least one string") { value throws(WireError) in
            let texts = try elements(of: name, value, "a string", string)
            return texts?.isEmpty == true ? nil : texts
        }
    }

    func texts(_ name: String) throws(WireError) -> [String] {
        try required(name, "an array of strings") { value throws(WireError) in
            try elements(of: name, value, "a string", string)
        }
    }

    func integersIfPresent(_ name: String) throws(WireError) -> [Int64]? {
        try optional(name, "an array of integers from 0") { value throws(WireError) in
            try elements(of: name, value, "an integer from 0") { integer($0).flatMap { $0 >= 0 ? $0 : nil } }
        }
    }

    func rawObject(_ name: String) throws(WireError) -> RawJSON {
        try required(name, "an object") { value in value.kind == .object ? raw(value) : nil }
    }

    func rawObjectIfPresent(_ name: String) throws(WireError) -> RawJSON? {
        value(name) == nil ? nil : try rawObject(name)
    }

    func object<T: BodyCoding>(_ name: String) throws(WireError) -> T {
        try required(name, "an object") { value throws(WireError) in
            guard value.kind == .object else { return nil }
            return try T(reading: ObjectReader(value, in: bytes, path: "\(path).\(name)"))
        }
    }

    func objectIfPresent<T: BodyCoding>(_ name: String) throws(WireError) -> T? {
        value(name) == nil ? nil : try object(name)
    }

    func objects<T: BodyCoding>(_ name: String) throws(WireError) -> [T] {
        try required(name, "an array of objects") { value throws(WireError) in
            var index = 0
            return try elements(of: name, value, "an object", show: .kind) { value throws(WireError) -> T? in
                guard value.kind == .object else { return nil }
                let result = try T(reading: ObjectReader(value, in: bytes, path: "\(path).\(name)[\(index)]"))
                index += 1
                return result
            }
        }
    }

    func objectsIfPresent<T: BodyCoding>(_ name: String) throws(WireError) -> [T]? {
        value(name) == nil ? nil : try objects(name)
    }

    /// The elements of an array of records, not parsed.
    func records(_ name: String) throws(WireError) -> RawRecords {
        try required(name, "an array of records") { value throws(WireError) in
            try elements(value).map { RawRecords($0, in: bytes) }
        }
    }

    func timeIfPresent(_ name: String) throws(WireError) -> Timestamp? {
        try optional(
            name, "a time as RFC 3339 writes it, with an offset, such as 2024-03-15T07:30:05+01:00", show: .text
        ) {
            value in
            guard let text = string(value) else { return nil }
            return try? Timestamp(parsing: text)
        }
    }
}
