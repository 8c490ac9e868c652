import HubWire

/// Adds, enables, disables and removes the section of a plugin within the text of a `hub.conf`, and leaves all other bytes as they are.
public struct SectionEditor {
    /// The reason why a change would lose something, and what to do by hand.
    public struct Refusal: Error, Hashable, CustomStringConvertible {
        public let description: String

        public init(description: String) { self.description = description }
    }

    public private(set) var text: String
    private let instance: String

    /// - Throws: a refusal if the text is not TOML.
    public init(_ text: String, of instance: String) throws(Refusal) {
        (self.text, self.instance) = (text, instance)
        if let fault = TOMLDocument(text).faults.first {
            throw Refusal(description: "line \(fault.position.line): \(fault.message)")
        }
    }

    private var header: String { "[plugin.\(tomlKey(instance))]" }

    private var section: Entry? { Self.plugins(text).first { $0.name == instance }?.entry }

    private static func plugins(_ text: String) -> [Field] {
        guard case .table(let fields)? = TOMLDocument(text).fields.first(where: { $0.name == "plugin" })?.entry.node
        else { return [] }
        return fields
    }

    /// Whether there is such a section.
    public var hasSection: Bool { section != nil }

    /// Whether it is enabled, explicitly or by default; false if there is no section.
    public var isEnabled: Bool {
        guard case .table(let fields)? = section?.node else { return false }
        guard case .boolean(let truth)? = fields.first(where: { $0.name == "enabled" })?.entry.node else { return true }
        return truth
    }

    /// Names of the sections that start the program of a kind: it follows from `executable`, else from `kind`, else from their name.
    public static func instances(ofKind kind: String, in text: String) -> [String] {
        plugins(text).filter { field in
            guard case .table(let fields) = field.entry.node else { return false }
            func said(_ name: String) -> String? {
                guard case .string(let value)? = fields.first(where: { $0.name == name })?.entry.node else {
                    return nil
                }
                return value
            }
            return (said("executable") ?? "hub-\(said("kind") ?? field.name)") == "hub-\(kind)"
        }.map(\.name)
    }

    /// Appends a block after an empty line.
    ///
    /// - Parameter block: lines that end in `\n`, including the section's header; they get the line ends of the file.
    public mutating func append(_ block: String) throws(Refusal) {
        guard !hasSection else { throw Refusal(description: "there is a \(header) already") }
        let changed = Self.appended(block, to: text)
        guard TOMLDocument(changed).faults.isEmpty, let after = try? SectionEditor(changed, of: instance),
            after.hasSection
        else { throw Refusal(description: "\(header) cannot be written: what stands in it is not TOML") }
        text = changed
    }

    static func appended(_ block: String, to text: String) -> String {
        let ending = text.utf8.firstRange(of: Array("\r\n".utf8)) != nil ? "\r\n" : "\n"
        let block = block.split(separator: "\n", omittingEmptySubsequences: false).joined(separator: ending)
        return text + (text.isEmpty ? "" : (text.utf8.last == 0x0A ? "" : ending) + ending) + block
    }

    /// Writes `enabled`.
    public mutating func setEnabled(_ truth: Bool) throws(Refusal) {
        guard isEnabled != truth else { return }
        var editor = try SettingEditor(text, of: ["plugin", instance])
        try editor.set("enabled", to: .boolean(truth))
        text = editor.text
    }

    /// Removes the section, and the comments right above it if an empty line separates them from the text before.
    ///
    /// - Returns: the removed lines.
    public mutating func remove() throws(Refusal) -> String {
        let byHand = Refusal(description: "\(header) is written in a way that this cannot take out; remove it by hand")
        guard let section else { throw Refusal(description: "there is no \(header)") }
        let lines = SettingsLines(Array(text.utf8))
        let headers = Self.places(of: TOMLDocument(text).fields).filter(lines.isHeader)
        let own = Set(Self.places(of: [Field(name: instance, entry: section)]).filter(lines.isHeader))
        guard let first = own.min(), let last = own.max(),
            headers.allSatisfy({ own.contains($0) || $0 < first || $0 > last })
        else { throw byHand }
        let next = headers.filter { $0 > last }.min().map { lines.firstComment(above: $0) }
        let taken = lines.taken(from: lines.firstComment(above: first), to: next ?? lines.count + 1)
        var changed = self
        changed.text = String(decoding: taken.rest, as: UTF8.self)
        guard TOMLDocument(changed.text).faults.isEmpty, !changed.hasSection, changed.others == others else {
            throw byHand
        }
        self = changed
        return String(decoding: taken.lines, as: UTF8.self)
    }

    private var others: [String] { Self.plugins(text).map(\.name).filter { $0 != instance } }

    /// The lines at which tables begin.
    private static func places(of fields: [Field]) -> [Int] {
        fields.flatMap { field -> [Int] in
            guard field.entry.range == nil else { return [] }
            switch field.entry.node {
            case .table(let fields): return [field.entry.position.line] + places(of: fields)
            case .array(let entries):
                return entries.flatMap { entry -> [Int] in
                    guard case .table(let fields) = entry.node else { return [] }
                    return [entry.position.line] + places(of: fields)
                }
            default: return []
            }
        }
    }
}

/// The lines of a settings file, numbered from 1; each includes its line end.
struct SettingsLines {
    private var lines: [ArraySlice<UInt8>]

    init(_ bytes: [UInt8]) { lines = bytes.split(separator: 0x0A, omittingEmptySubsequences: false) }

    var bytes: [UInt8] { Array(lines.joined(separator: [0x0A])) }
    var count: Int { lines.count }

    /// A line without its indentation.
    subscript(number: Int) -> ArraySlice<UInt8> {
        guard lines.indices.contains(number - 1) else { return [] }
        return lines[number - 1].drop { $0 == 0x20 || $0 == 0x09 }
    }

    func isHeader(_ number: Int) -> Bool { self[number].starts(with: "[".utf8) }

    mutating func insert(_ line: String, after number: Int) {
        let ending = number > 0 && lines[number - 1].last == 0x0D ? "\r" : ""
        lines.insert(ArraySlice((line + ending).utf8), at: number)
    }

    /// The first of the comments right above a line, or the empty line above them; the line itself if they belong to the text before.
    func firstComment(above number: Int) -> Int {
        var first = number
        while first > 1, self[first - 1].first == UInt8(ascii: "#") { first -= 1 }
        if first == 1 { return first }
        return isEmpty(first - 1) ? first - 1 : number
    }

    /// Whether a line is empty or lies after the last.
    func isEmpty(_ number: Int) -> Bool { self[number].allSatisfy { $0 == 0x0D } }

    /// Replaces a line and keeps its line end.
    mutating func replace(_ number: Int, by line: String) {
        let ending = lines[number - 1].last == 0x0D ? "\r" : ""
        lines[number - 1] = ArraySlice((line + ending).utf8)
    }

    /// Splits off a range of lines.
    ///
    /// - Parameter end: the line after the last one to take.
    func taken(from first: Int, to end: Int) -> (lines: [UInt8], rest: [UInt8]) {
        let range = (first - 1)..<max(first - 1, min(end - 1, lines.count))
        let isToEnd = range.upperBound == lines.count
        var rest = lines
        rest.removeSubrange(range)
        // The line before keeps its line end.
        if isToEnd, first > 1 { rest.append([]) }
        let end: [UInt8] = isToEnd ? [] : [0x0A]
        return (Array(lines[range].joined(separator: [0x0A])) + end, Array(rest.joined(separator: [0x0A])))
    }
}
