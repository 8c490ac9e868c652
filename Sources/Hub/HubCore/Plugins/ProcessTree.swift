import FoundationEssentials
import Glibc

/// The tree of processes and their parents, from `/proc`.
struct ProcessTree {
    private let children: [pid_t: [pid_t]]

    /// The current tree; empty if there is no `/proc`.
    init() {
        var children: [pid_t: [pid_t]] = [:]
        for entry in (try? FileManager.default.contentsOfDirectory(atPath: "/proc")) ?? [] {
            guard let child = pid_t(entry), let parent = Self.parent(of: child) else { continue }
            children[parent, default: []].append(child)
        }
        self.children = children
    }

    static func below(_ process: pid_t) -> [pid_t] { ProcessTree().below(process) }

    /// All descendants of `process`, without `process`.
    func below(_ process: pid_t) -> [pid_t] {
        var children = children
        var (found, rest) = ([pid_t](), [process])
        while let next = rest.popLast() {
            let more = children.removeValue(forKey: next) ?? []
            found += more
            rest += more
        }
        return found
    }

    static func parent(of process: pid_t) -> pid_t? {
        // The name of a program, in brackets, may contain any characters.
        guard let bytes = FileManager.default.contents(atPath: "/proc/\(process)/stat"),
            let close = bytes.lastIndex(of: UInt8(ascii: ")"))
        else { return nil }
        let fields = bytes[bytes.index(after: close)...].split(separator: UInt8(ascii: " "))
        return fields.count > 1 ? pid_t(String(decoding: fields[1], as: UTF8.self)) : nil
    }

    /// Whether `ancestor` is one of its ancestors.
    static func isBelow(_ process: pid_t, _ ancestor: pid_t) -> Bool {
        var current = process
        // The tree may change during the loop; no chain of ancestors is longer than this.
        for _ in 0..<256 {
            guard current > 1, let next = parent(of: current) else { return false }
            if next == ancestor { return true }
            current = next
        }
        return false
    }
}
