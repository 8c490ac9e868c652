/// A failure of an instance, and how it can be resolved.
struct InstanceFault: Sendable, Hashable {
    enum Kind: Sendable, Hashable {
        /// Its program failed; too many of these lead to quarantine.
        case crash
        /// A resource that it needs was not available; it is retried without limit, at growing intervals.
        case temporary
        /// Only a person can correct it; it is retried at long intervals in case that has happened.
        case hopeless(Remedy)
    }

    /// The correction that a person has to make.
    enum Remedy: Sendable, Hashable {
        case settings, program, refusal
    }

    let kind: Kind
    /// In words that follow the instance's name: `exited with code 3`.
    let text: String

    init(_ kind: Kind, _ text: String) { (self.kind, self.text) = (kind, text) }

    /// - Parameter bytes: the counted bytes; `nil` if the kernel enforced the limit.
    static func overweight(bytes: Int64?, limit: Int64) -> InstanceFault {
        let most = "its memory_limit of \(limit >> 20) MiB"
        return InstanceFault(
            .crash,
            bytes.map { "held \($0 >> 20) MiB of memory, more than \(most)" }
                ?? "wanted more memory than \(most), and the kernel ended it")
    }
}

/// The way in which a process has ended.
package enum ProcessEnding: Sendable, Hashable {
    case exited(Int)
    case killed(signal: Int)
    /// The kernel has killed it for exceeding this limit of memory, in bytes.
    case overLimit(Int64)
    /// The process could not be started.
    case notStarted(String)

    /// The fault that the ending indicates; `nil` for a clean end.
    ///
    /// The codes are those of PluginKit and `sysexits.h`; other programs may or may not use them.
    /// - Parameter hadSession: whether it had greeted the hub: a program that ends without greeting has not done its work.
    func fault(hadSession: Bool) -> InstanceFault? {
        switch self {
        case .exited(0):
            hadSession ? nil : InstanceFault(.crash, "ended at once, before it greeted the hub (exit code 0)")
        case .exited(64): InstanceFault(.hopeless(.program), "does not understand how the hub starts it (exit code 64)")
        case .exited(69): InstanceFault(.temporary, "cannot reach a device or service that it needs (exit code 69)")
        case .exited(70): InstanceFault(.hopeless(.program), "has a manifest with faults (exit code 70)")
        case .exited(73): InstanceFault(.temporary, "cannot use its state directory (exit code 73)")
        case .exited(75): InstanceFault(.temporary, "ended before it was done (exit code 75)")
        case .exited(77): InstanceFault(.hopeless(.refusal), "was refused by the hub (exit code 77)")
        case .exited(78): InstanceFault(.hopeless(.settings), "found errors in its settings (exit code 78)")
        case .exited(let code): InstanceFault(.crash, "exited with code \(code)")
        case .killed(let signal): InstanceFault(.crash, "was ended by signal \(signal)")
        case .overLimit(let limit): .overweight(bytes: nil, limit: limit)
        case .notStarted(let reason): InstanceFault(.temporary, "could not be started: \(reason)")
        }
    }
}
