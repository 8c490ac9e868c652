import PluginKit

/// What a viewer may do; each may what those before it may.
enum Scope: String, Codable, Comparable, CaseIterable, Sendable {
    /// See values and what the hub says of itself.
    case read
    /// Enter, edit and take back records.
    case write
    /// Start plugins, give records to persons, and all else that is the owner's.
    case manage

    static func < (left: Self, right: Self) -> Bool {
        (allCases.firstIndex(of: left) ?? 0) < (allCases.firstIndex(of: right) ?? 0)
    }
}

/// Who looks: what a page may show is asked of this alone.
struct Viewer: Sendable {
    /// The secret of a browser's session, or a program's token.
    let session: AccessKey
    /// `nil`: the owner.
    let person: String?
    /// What they may do of what their person may.
    let scope: Scope
    /// Whether it is a browser that is logged in, which other places may lead here; else a program with a token.
    let isBrowser: Bool
    /// The hash of the browser's form token; `nil`: it only reads.
    private let formToken: String?

    /// A browser that is logged in: who they are says what they may.
    ///
    /// - Parameter formToken: the hash of what its pages send with each form; `nil`: it only reads.
    init(session: AccessKey, person: String?, formToken: String? = nil) {
        (self.session, self.person, isBrowser) = (session, person, true)
        self.formToken = formToken
        scope = person == nil ? .manage : .write
    }

    /// A program.
    init(token: AccessKey, person: String?, scope: Scope) {
        (session, self.person, self.scope, isBrowser) = (token, person, scope, false)
        formToken = nil
    }

    /// Whether a request comes from a page of this address in the browser that logged in.
    ///
    /// The cookie does not show that: browsers send it to every port of the host.
    func sends(formToken text: String?) -> Bool {
        guard let formToken, let text, let key = AccessKey(text) else { return false }
        return key.hash == formToken
    }

    var isOwner: Bool { person == nil }

    /// What someone has written about a record, such as why it was edited, or what a sink said: it may be about others.
    var readsReasons: Bool { isOwner }

    /// Those whose values this viewer sees, of all that there are.
    func persons(_ all: [Welcome.PersonEntry]) -> [Welcome.PersonEntry] {
        guard let person else { return all }
        return all.filter { $0.name == person }
    }

    /// What belongs to no person, such as a record in the inbox, only the owner sees.
    func maySee(_ record: StoredRecord) -> Bool { person.map { record.assignment.person?.name == $0 } ?? true }
}
