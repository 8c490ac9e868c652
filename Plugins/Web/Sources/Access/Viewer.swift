import PluginKit

/// Who looks: what a page may show is asked of this alone.
struct Viewer: Sendable {
    let session: AccessKey
    /// `nil`: the owner.
    let person: String?

    var isOwner: Bool { person == nil }

    /// Those whose values this viewer sees, of all that there are.
    func persons(_ all: [Welcome.PersonEntry]) -> [Welcome.PersonEntry] {
        guard let person else { return all }
        return all.filter { $0.name == person }
    }

    /// What is no person's, such as a record in the inbox, only the owner sees.
    func maySee(_ record: StoredRecord) -> Bool { person.map { record.assignment.person?.name == $0 } ?? true }
}
