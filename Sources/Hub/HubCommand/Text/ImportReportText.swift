import Foundation
import HealthText
import HubClient
import HubWire
import Samples

/// The result of an import of a file, for people.
struct ImportReportText {
    /// The zone of its days.
    let zone: TimeZone

    func lines(_ report: ImportReport) -> [String] {
        var lines = [head(report)]
        lines += table("type", report.types)
        lines += table("source", report.sources)
        if report.filtered > 0 { lines.append("\(NumberText.count(report.filtered, "record")) left out, as asked") }
        for oddity in report.oddities {
            lines.append("\(NumberText.grouped(oddity.count)) × \(oddity.explanation)")
            lines += places(oddity.places, of: oddity.count, in: report)
        }
        if !report.unknownTypes.isEmpty {
            lines.append("types that are new to the hub, kept under their names: \(list(report.unknownTypes))")
        }
        if !report.unknownElements.isEmpty {
            lines.append("elements that are not known: \(list(report.unknownElements))")
        }
        for refusal in report.refusals.prefix(20) {
            let reason = LocalTime.inSentence(String(refusal.reason.prefix(300)), zone: zone)
            lines.append("\(NumberText.count(refusal.count, "record")) refused: \(reason)")
            lines += places(refusal.places, of: refusal.count, in: report)
        }
        if report.dryRun { lines.append("nothing was stored") }
        return lines
    }

    /// Maximum number of places printed for each kind.
    private static let most = 5

    private func places(_ places: [ImportReport.Place], of count: Int, in report: ImportReport) -> [String] {
        var lines = places.prefix(ImportReportText.most).compactMap { text($0) }.map { "  \($0)" }
        let rest = count - places.prefix(ImportReportText.most).reduce(0) { $0 + ($1.count ?? 1) }
        if rest > 0, !lines.isEmpty {
            lines.append(
                "  and \(NumberText.grouped(rest)) more"
                    + (places.count > ImportReportText.most ? "; --json has their places" : ""))
        }
        return lines
    }

    /// `weight of Scale, 2026-11-02 07:00:00 +01:00, at byte 1,234: the value is not a number`.
    private func text(_ place: ImportReport.Place) -> String? {
        var parts: [String] = []
        let name = [place.type, place.source.map { $0.isEmpty ? "" : "of \($0)" }].compactMap { $0 }
            .filter { !$0.isEmpty }.joined(separator: " ")
        if !name.isEmpty { parts.append(name) }
        if let count = place.count { parts.append("\(NumberText.grouped(count)) of \(place.file ?? "")") }
        if place.count == nil, let file = place.file { parts.append(file) }
        if let date = place.date { parts.append(date) }
        if let byte = place.byte { parts.append("at byte \(NumberText.grouped(byte))") }
        let line = parts.joined(separator: ", ") + (place.reason.map { parts.isEmpty ? $0 : ": \($0)" } ?? "")
        return line.isEmpty ? nil : LocalTime.inSentence(line, zone: zone)
    }

    private func list(_ names: [String]) -> String {
        names.prefix(20).map { Terminal.cut($0) }.joined(separator: ", ")
            + (names.count > 20 ? " and \(names.count - 20) more" : "")
    }

    /// The day of a moment in the report.
    private func day(_ text: String?) -> String {
        text.map { (try? Timestamp(parsing: $0))?.local(in: zone).localDate.text ?? String($0.prefix(10)) } ?? ""
    }

    private func head(_ report: ImportReport) -> String {
        var line = "\(report.file): \(NumberText.count(report.records, "record"))"
        if let from = report.from, let to = report.to { line += " from \(day(from)) to \(day(to))" }
        if let date = report.exportDate { line += ", exported \(day(date))" }
        if let new = report.new {
            line += "; \(NumberText.grouped(new)) \(report.dryRun ? "would be new" : "new")"
            if let changed = report.changed, changed > 0 { line += ", \(NumberText.grouped(changed)) changed" }
            line += ", \(NumberText.grouped(report.known ?? 0)) there already"
            if report.refused > 0 { line += ", \(NumberText.grouped(report.refused)) refused" }
        }
        return line
    }

    private func table(_ name: String, _ parts: [ImportReport.Part]) -> [String] {
        guard !parts.isEmpty else { return [] }
        let shown = parts.prefix(40)
        let lines = Table.lines([.left(name.uppercased()), .right("RECORDS"), .right("NEW"), "FROM", "TO"], of: shown) {
            part in
            [
                Terminal.cut(part.name.isEmpty ? "(none)" : part.name), NumberText.grouped(part.records),
                part.new.map { NumberText.grouped($0) } ?? "", day(part.from), day(part.to),
            ]
        }
        let rest = parts.count - shown.count
        return lines + (rest > 0 ? ["and \(rest) more; --json has all"] : [])
    }
}
