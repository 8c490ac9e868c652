import PluginKit

/// The permissions of a viewer; each includes those before it.
enum Scope: String, Codable, Comparable, CaseIterable, Sendable {
    /// Read values and the hub's state.
    case read
    /// Add, edit and delete records.
    case write
    /// Manage plugins, assign records to persons, and use everything else of the owner.
    case manage

    static func < (left: Self, right: Self) -> Bool {
        (allCases.firstIndex(of: left) ?? 0) < (allCases.firstIndex(of: right) ?? 0)
    }
}

/// The viewer of a page or caller of the API; determines all that an answer may show.
struct Viewer: Sendable {
    /// The secret of a browser's session, or of a program's token.
    let session: AccessKey
    /// Nil for the owner.
    let person: String?
    /// The permitted actions, within those of the person.
    let scope: Scope
    /// Whether it is a logged-in browser, which other sites may link here; otherwise a program with a token.
    let isBrowser: Bool
    /// The hash of the browser's form token; nil if the session only reads.
    private let formToken: String?

    /// A logged-in browser; the person determines the scope.
    ///
    /// - Parameter formToken: the hash of the token that its pages send with each form; nil if it only reads.
    init(session: AccessKey, person: String?, formToken: String? = nil) {
        (self.session, self.person, isBrowser) = (session, person, true)
        self.formToken = formToken
        scope = person == nil ? .manage : .write
    }

    /// A program with a token.
    init(token: AccessKey, person: String?, scope: Scope) {
        (session, self.person, self.scope, isBrowser) = (token, person, scope, false)
        formToken = nil
    }

    /// Whether a request comes from a page of this address in the browser that logged in.
    ///
    /// The cookie does not prove that, because browsers send it to every port of the host.
    func sends(formToken text: String?) -> Bool {
        guard let formToken, let text, let key = AccessKey(text) else { return false }
        return key.hash == formToken
    }

    var isOwner: Bool { person == nil }

    /// Whether it may read free texts about records, such as reasons of edits or messages of sinks, which may concern others.
    var readsReasons: Bool { isOwner }

    /// The persons whose values this viewer may see.
    func persons(_ all: [Welcome.PersonEntry]) -> [Welcome.PersonEntry] {
        guard let person else { return all }
        return all.filter { $0.name == person }
    }

    /// Whether it may see a record; a record without a person, as in the inbox, is only for the owner.
    func maySee(_ record: StoredRecord) -> Bool { person.map { record.assignment.person?.name == $0 } ?? true }
}
