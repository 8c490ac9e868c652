import HubClient
import HubWords
import Samples

/// Records in lines.
extension RecordText {
    /// - Parameter units: how persons read values and dates.
    init(_ stored: StoredRecord, _ units: ReadingUnits) { self.init(stored) { units[$0] } }

    /// The columns of a list of records.
    static func table() -> Table {
        Table([
            ("TIME", .left), ("PERSON", .left), ("TYPE", .left), ("VALUE", .left), ("SOURCE", .left),
            ("NUMBER", .right),
        ])
    }

    /// A table of records; nothing where there is none.
    static func lines(of records: [StoredRecord], _ units: ReadingUnits) -> [String] {
        var table = table()
        for record in records { table.add(RecordText(record, units).cells) }
        return records.isEmpty ? [] : table.takeLines()
    }

    /// The cells of ``table()``.
    var cells: [String] { [time, person, type, value, source, number] }
}
