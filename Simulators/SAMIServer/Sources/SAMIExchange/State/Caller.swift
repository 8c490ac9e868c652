/// The caller, and the rights of its token.
struct Caller: Sendable, Hashable {
    enum Kind: Sendable, Hashable {
        case user(String, application: String)
        case application(String)
        case device(String, user: String)
    }

    enum Right: String, Sendable {
        case read, write
    }

    let token: String
    let kind: Kind
    /// `read`, `write` or both.
    let scope: String
    /// The application's rights by device type; `*` is any type.
    ///
    /// A device's own token needs none.
    let rights: [String: String]

    /// The user whose data a request concerns by default; `nil` for an application's token.
    var user: String? {
        switch kind {
        case .user(let user, _), .device(_, let user): user
        case .application: nil
        }
    }

    var application: String? {
        switch kind {
        case .user(_, let application), .application(let application): application
        case .device: nil
        }
    }

    var actor: RateLimits.Actor {
        switch kind {
        case .user(let user, let application): .user(user, application: application)
        case .application(let application): .application(application)
        case .device(let device, _): .device(device)
        }
    }

    func may(_ right: Right, _ deviceType: String) -> Bool {
        if case .device = kind { return true }
        let isIn = { (list: String) in list.split(separator: ",").contains { $0 == right.rawValue } }
        return isIn(scope) && isIn(rights[deviceType] ?? rights["*"] ?? "")
    }
}
