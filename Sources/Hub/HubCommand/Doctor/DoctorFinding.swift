import Foundation
import HealthText
import HubClient
import HubStore

/// The result of one check of `hub doctor`.
struct DoctorFinding: Encodable, Hashable {
    typealias Severity = StatusFinding.Severity

    let severity: Severity
    /// The subject of the check: `config`, `store`, `disk`, ….
    let subject: String
    /// One sentence.
    let text: String
    /// The command that repairs it, or what to do.
    var repair: String?
    /// Whether `--fix` has repaired it, or would.
    var isFixed: Bool?
    /// The repair of `--fix`: set the mode of this file.
    var mode: Mode?
    /// The repair of `--fix`: let the hub use this store and confirm records again.
    var damaged: StoreFile?
    /// The repair of `--fix`: have the statistics computed again.
    var rolledUp: StoreFile?

    struct Mode: Hashable {
        let path: String
        let mode: mode_t
    }

    private enum CodingKeys: String, CodingKey {
        case severity, subject, text, repair
        case isFixed = "fixed"
    }

    init(_ severity: Severity, _ subject: String, _ text: String, repair: String? = nil, mode: Mode? = nil) {
        (self.severity, self.subject, self.text, self.repair, self.mode) = (severity, subject, text, repair, mode)
    }

    func lines(colours: Bool) -> [String] {
        let word =
            switch severity {
            case .good: StatusColour.good.paint("ok     ", colours)
            case .note: StatusColour.faint.paint("note   ", colours)
            case .warning: StatusColour.doubtful.paint("warning", colours)
            case .error: StatusColour.bad.paint("error  ", colours)
            }
        let name = subject + String(repeating: " ", count: max(0, 9 - subject.count))
        let first = "\(word)  \(name)  \(LocalTime.inSentence(text))"
        if isFixed == true { return [first, "                    fixed"] }
        return [first] + (repair.map { ["                    → \($0)"] } ?? [])
    }
}

extension [DoctorFinding] {
    static func one(
        _ severity: DoctorFinding.Severity, _ subject: String, _ text: String, repair: String? = nil
    ) -> [DoctorFinding] {
        [DoctorFinding(severity, subject, text, repair: repair)]
    }

    mutating func add(
        _ severity: DoctorFinding.Severity, _ subject: String, _ text: String, repair: String? = nil,
        mode: DoctorFinding.Mode? = nil
    ) { append(DoctorFinding(severity, subject, text, repair: repair, mode: mode)) }
}
