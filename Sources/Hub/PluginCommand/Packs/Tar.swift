/// Plain files one after the other, in the oldest common format of tar (POSIX ustar).
///
/// It reads and writes no folders, links, devices or extensions, so a pack cannot contain any. Any tar program can list and unpack the
/// result.
enum Tar {
    static let block = 512
    private static let magic = Array("ustar\u{0}00".utf8)

    struct Entry: Equatable {
        var path: String
        var bytes: Int
    }

    // MARK: - Writing

    /// The header of a file; its bytes and ``padding(after:)`` follow.
    ///
    /// - Returns: `nil` if the path is too long for a header.
    static func header(_ path: String, bytes: Int, isProgram: Bool) -> [UInt8]? {
        guard let (prefix, name) = split(Array(path.utf8)), bytes < 1 << 33 else { return nil }
        var header: [UInt8] = []
        func field(_ content: [UInt8], _ width: Int) {
            header += content + [UInt8](repeating: 0, count: width - content.count)
        }
        func number(_ value: Int, _ width: Int) {
            let digits = String(value, radix: 8)
            field(Array((String(repeating: "0", count: width - 1 - digits.count) + digits).utf8), width)
        }
        field(name, 100)
        number(isProgram ? 0o755 : 0o644, 8)
        number(0, 8)
        number(0, 8)
        number(bytes, 12)
        // With a time the same files would give different packs.
        number(0, 12)
        field(Array("        ".utf8), 8)
        field(Array("0".utf8), 1)
        field([], 100)
        field(magic, 8)
        field([], 80)
        field(prefix, 155)
        field([], 12)
        let sum = String(header.reduce(0) { $0 + Int($1) }, radix: 8)
        let text = String(repeating: "0", count: 6 - sum.count) + sum + "\u{0} "
        header.replaceSubrange(148..<156, with: text.utf8)
        return header
    }

    static func padding(after bytes: Int) -> [UInt8] { [UInt8](repeating: 0, count: (block - bytes % block) % block) }

    static let end = [UInt8](repeating: 0, count: 2 * block)

    /// Splits a path into a name of at most 100 bytes and the prefix before it.
    private static func split(_ path: [UInt8]) -> (prefix: [UInt8], name: [UInt8])? {
        if path.count <= 100 { return ([], path) }
        for place in path.indices
        where path[place] == UInt8(ascii: "/") && place <= 155 && path.count - place - 1 <= 100 {
            return (Array(path[..<place]), Array(path[(place + 1)...]))
        }
        return nil
    }

    // MARK: - Reading

    /// Reads the header of the next file; the caller must read the file's bytes before it calls this again.
    ///
    /// - Returns: `nil` at the end, if nothing follows it.
    static func next(_ source: inout GzipReader) throws(PluginError) -> Entry? {
        let header = try source.read(block)
        guard header.count == block else { throw PluginError("it ends in the middle: the end of its tar is missing") }
        if header.allSatisfy({ $0 == 0 }) {
            try readEnd(&source)
            return nil
        }
        let sum = try number(header[148..<156], "sum")
        let counted = header.enumerated().reduce(0) { $0 + (148..<156 ~= $1.offset ? 32 : Int($1.element)) }
        guard sum == counted else { throw PluginError("it is damaged: the sum of a header of its tar is wrong") }
        guard Array(header[257..<265]) == magic else {
            throw PluginError("it has another form of tar than ustar; hub plugin pack makes packs")
        }
        let (prefix, name) = (try text(header[345..<500]), try text(header[0..<100]))
        let path = prefix.isEmpty ? name : "\(prefix)/\(name)"
        if let what = oddity(header[156]) {
            throw PluginError("\(shown(path)) in it is \(what), and a pack has plain files alone")
        }
        return Entry(path: path, bytes: try number(header[124..<136], "size"))
    }

    /// Reads the end of the archive: at least one more block of zeros, and no other bytes.
    private static func readEnd(_ source: inout GzipReader) throws(PluginError) {
        var count = 0
        while true {
            let piece = try source.read(block)
            guard piece.allSatisfy({ $0 == 0 }) else {
                throw PluginError("it has bytes after the end of its tar: it is not a pack as it was made")
            }
            count += piece.count
            // GNU tar pads archives to 10 KiB.
            guard count <= 20 * block else { throw PluginError("it goes on after the end of its tar") }
            if piece.count < block { break }
        }
        guard count >= block else { throw PluginError("it ends in the middle: the end of its tar is missing") }
    }

    private static func number(_ field: ArraySlice<UInt8>, _ what: String) throws(PluginError) -> Int {
        let digits = field.prefix { $0 != 0 && $0 != 0x20 }
        let isEnded = field.dropFirst(digits.count).allSatisfy { $0 == 0 || $0 == 0x20 }
        guard isEnded, !digits.isEmpty, let value = Int(String(decoding: digits, as: UTF8.self), radix: 8), value >= 0,
            digits.allSatisfy({ (0x30...0x37).contains($0) })
        else { throw PluginError("it is damaged: a \(what) in its tar is not a number") }
        return value
    }

    private static func text(_ field: ArraySlice<UInt8>) throws(PluginError) -> String {
        let bytes = field.prefix { $0 != 0 }
        guard let text = String(validating: bytes, as: UTF8.self), field.dropFirst(bytes.count).allSatisfy({ $0 == 0 })
        else { throw PluginError("the name of a file in it is not UTF-8") }
        return text
    }

    private static func oddity(_ type: UInt8) -> String? {
        switch type {
        case 0, UInt8(ascii: "0"): nil
        case UInt8(ascii: "1"): "a hard link"
        case UInt8(ascii: "2"): "a symbolic link"
        case UInt8(ascii: "3"), UInt8(ascii: "4"): "a device"
        case UInt8(ascii: "5"): "a folder"
        case UInt8(ascii: "6"): "a pipe"
        default: "an extension of tar"
        }
    }

    /// A path of unknown origin, quoted for a message.
    static func shown(_ path: String) -> String { "\"\(path.prefix(120))\"" }
}
