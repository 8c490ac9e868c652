import FoundationEssentials
import Glibc

/// The machine's files as a confined program sees them.
struct ConfinedFileView: Sendable {
    /// In the order in which `hub-confine` mounts them: a later one covers an earlier one.
    private var places: [(path: String, isHidden: Bool)]

    init(_ reach: ConfinementRules, _ executable: String, _ own: ConfinementRules.Own?) {
        let words = reach.command(executable, [], own).words.prefix { $0 != "--" }
        places = zip(words, words.dropFirst()).compactMap { kind, path in
            ["--execute", "--read", "--write", "--hide"].contains(kind) ? (path, kind == "--hide") : nil
        }
    }

    /// The visibility of a path to the program.
    enum Sight: Hashable {
        case seen
        /// The path does not exist, for the hub either.
        case absent
        /// The path does not exist for the program, although this place on the way through links exists.
        case unseen(String)
        /// The path is hidden because it belongs to the hub.
        case hidden(String)
    }

    mutating func grant(_ path: String) { places.append((path, false)) }

    func sight(of path: String) -> Sight {
        var rest = Self.names(of: path)
        var current = ""
        var links = 0
        while let name = rest.popLast() {
            guard name != ".", name != ".." else {
                if name == ".." { current = String(current[..<(current.lastIndex(of: "/") ?? current.startIndex)]) }
                continue
            }
            let next = "\(current)/\(name)"
            let place = places.last { next == $0.path || next.hasPrefix($0.path + "/") }
            guard let place, !place.isHidden else {
                current = next
                // A folder of the new root that leads to a place.
                if places.contains(where: { !$0.isHidden && $0.path.hasPrefix(next + "/") }) { continue }
                let whole = ([next] + rest.reversed()).joined(separator: "/")
                guard access(whole, F_OK) == 0 else { return .absent }
                return place == nil ? .unseen(whole) : .hidden(whole)
            }
            // A place is mounted as the target of its link.
            if next != place.path, let target = try? FileManager.default.destinationOfSymbolicLink(atPath: next) {
                links += 1
                guard links <= 40 else { return .absent }
                rest += Self.names(of: target)
                if target.hasPrefix("/") { current = "" }
                continue
            }
            guard access(next, F_OK) == 0 else { return .absent }
            current = next
        }
        return .seen
    }

    /// The names in reverse order.
    private static func names(of path: String) -> [String] { path.split(separator: "/").reversed().map(String.init) }
}
