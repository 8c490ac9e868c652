/// Who calls, and what the token allows.
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
    /// Rights by device type, of the application; `*` is any type.
    ///
    /// A device's own token needs none.
    let rights: [String: String]

    /// Whose data it is about when nothing is said; an application's token says nothing.
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
