import Hummingbird
import PluginKit
import Samples

extension WebRequestContext {
    /// The record number in the address.
    var record: Int64 {
        get throws {
            guard let number = parameters.get("number").flatMap({ Int64($0) }), number > 0 else { throw noSuchPage }
            return number
        }
    }
}

extension WebForm {
    /// Checks that a record still has the version that the page showed.
    ///
    /// - Throws: ``RequestRefusal`` if it has changed meanwhile.
    func demandVersion(of record: StoredRecord) throws {
        guard try number("version") == record.sequence else { throw RequestRefusal.changed(record.number) }
    }
}

extension RequestRefusal {
    /// The refusal for a record that has changed since the page was shown.
    static func changed(_ number: Int64) -> RequestRefusal {
        RequestRefusal(
            .conflict, "Record \(number) has changed meanwhile",
            "Nothing was done. Open it again: its page shows how it is now.")
    }
}

extension StoredRecord {
    /// Arguments that name the record with its version, so that a command fails if it has changed since.
    var asSeen: [String: SettingValue] { ["number": .integer(number), "seq": .integer(sequence)] }
}

extension [StoredRecord] {
    /// Arguments that name the records with their versions, so that a command fails if one has changed since.
    var asSeen: [String: SettingValue] {
        ["numbers": .list(map { .integer($0.number) }), "seqs": .list(map { .integer($0.sequence) })]
    }
}
