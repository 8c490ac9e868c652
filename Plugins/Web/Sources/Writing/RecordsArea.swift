import Hummingbird
import PluginKit
import Samples

/// The pages that add, edit and delete records.
struct RecordsArea: SiteArea {
    let parts: WebParts

    func add(to router: some RouterMethods<WebRequestContext>) {
        let (entry, record) = (EntryPage(parts: parts), RecordDetailPage(parts: parts))
        let (edit, removal) = (EditPage(parts: parts), RemovalPage(parts: parts))
        router.get("/add") { request, visit in try entry.show(request, visit) }
        router.post("/add") { request, visit in try await entry.save(request, visit) }
        router.get("/records/:number") { request, visit in try await record.show(request, visit) }
        router.get("/records/:number/edit") { request, visit in try await edit.show(request, visit) }
        router.post("/records/:number/edit") { request, visit in try await edit.save(request, visit) }
        router.post("/records/:number/confirm") { request, visit in try await edit.confirm(request, visit) }
        router.get("/records/:number/delete") { request, visit in try await removal.ask(request, visit) }
        router.post("/records/:number/delete") { request, visit in try await removal.remove(request, visit) }
        router.post("/records/:number/undo") { request, visit in try await removal.undo(request, visit) }
    }
}

extension WebRequestContext {
    /// The record number in the address.
    var record: Int64 {
        get throws {
            guard let number = parameters.get("number").flatMap({ Int64($0) }), number > 0 else { throw NoSuchPage() }
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
