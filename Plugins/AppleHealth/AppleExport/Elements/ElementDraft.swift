import JSON

/// The data of an element that becomes a record, copied from the read buffer.
struct ElementDraft {
    var type: TypeEntry?
    var source: SourceEntry?
    var unit: UnitEntry?
    var revision: MetadataEntry?
    var device: MetadataEntry?
    var hasValue = false
    /// The value as written in the export.
    var value: [UInt8] = []
    var start: ExportTime?
    var end: ExportTime?
    /// The original text of a start or end that cannot be read.
    var wrongTime: String?
    /// Whether its times are in a form of the phone's language, which the account notes.
    var isForeignTime = false
    var created: Int64?
    var hasWrongTime: Bool { wrongTime != nil }
    /// Members of metadata, separated by commas.
    var metadata: [UInt8] = []
    var unread: [UInt8] = []
    var zone: String?
    var syncIdentifier: String?
    var syncVersion: Int64?
    var externalUUID: String?
    var foodType: String?
    var names: Set<String> = []
    /// The offset of the element in the XML.
    var offset: Int64 = 0

    /// Resets the draft but keeps its allocated memory.
    mutating func reset(at offset: Int64) {
        (type, source, unit, revision, device) = (nil, nil, nil, nil, nil)
        (hasValue, start, end, created, wrongTime) = (false, nil, nil, nil, nil)
        isForeignTime = false
        value.removeAll(keepingCapacity: true)
        metadata.removeAll(keepingCapacity: true)
        unread.removeAll(keepingCapacity: true)
        (zone, syncIdentifier, syncVersion, externalUUID, foodType) = (nil, nil, nil, nil, nil)
        if !names.isEmpty { names.removeAll(keepingCapacity: true) }
        self.offset = offset
        leftOut = 0
    }

    /// The number of metadata members that did not fit.
    ///
    /// An element may have millions of them, but a record has room for few.
    var leftOut = 0
    private static let room = ExportReader.metadataRoom

    /// Adds a metadata member as JSON; the first member of a name counts.
    ///
    /// - Returns: false if there is already a member with that name.
    mutating func add(_ name: String, json: [UInt8]) -> Bool {
        guard !names.contains(name) else { return false }
        guard metadata.count + name.utf8.count + json.count + 4 < Self.room else {
            leftOut += 1
            return true
        }
        names.insert(name)
        metadata.begin(name)
        metadata += json
        return true
    }

    mutating func add(_ name: String, text: String) -> Bool {
        add(name, json: .quoted(text))
    }

    /// Adds an attribute without a place in the record, under its original name; a second one becomes `NAME 2`.
    mutating func addUnread(_ name: String, json: [UInt8]) {
        var (free, number) = (name, 1)
        while names.contains("unread \(free)"), number < 100 {
            number += 1
            free = "\(name) \(number)"
        }
        guard number < 100, unread.count + free.utf8.count + json.count + 4 < Self.room else { return leftOut += 1 }
        names.insert("unread \(free)")
        unread.begin(free)
        unread += json
    }
}
