import Foundation
import Platform

/// The findings of one plugin's examination, and the tier that follows from them.
package struct ConformanceReport: Sendable {
    package struct Finding: Sendable {
        package let rule: Rule
        package let verdict: ConformanceTest.Verdict
        package let time: Duration

        /// Its time with the digits that a report has.
        fileprivate var seconds: Double { Double(Int(time / .milliseconds(1))) / 1_000 }
    }

    package let plugin: String
    package let version: String?
    package let program: String
    package let findings: [Finding]

    /// The highest tier for which no rule is broken or open, in it or in a lower tier.
    ///
    /// `nil` if it does not reach bronze, or if not all rules were examined.
    package var tier: Tier? {
        guard isWhole else { return nil }
        return Tier.allCases.prefix { tier in
            findings.allSatisfy { $0.rule.tier != tier || !$0.verdict.isFault }
        }.last
    }

    private var isWhole: Bool { findings.count == Rule.all.count }

    package var broken: [Finding] {
        findings.filter { finding in if case .broken = finding.verdict { true } else { false } }
    }

    /// The report for people: each broken rule with its repair, then the tier and the rules missing for the next one.
    package func lines(showsAll: Bool) -> [String] {
        var lines: [String] = []
        for finding in findings {
            let mark = "\(finding.rule.tier.name) \(finding.rule.name)"
            switch finding.verdict {
            case .kept where showsAll: lines.append("kept    \(mark): \(finding.rule.text)")
            case .notConcerned(let reason) where showsAll: lines.append("-       \(mark): \(reason)")
            case .open(let reason): lines.append("open    \(mark): \(reason)")
            case .broken(let seen):
                lines.append("BROKEN  \(mark): \(finding.rule.text)")
                lines += seen.map { "        seen: \($0)" }
                lines.append("        do:   \(finding.rule.repair)")
            case .kept, .notConcerned: break
            }
        }
        let kept = findings.count { $0.verdict == .kept }
        let concerned = findings.count { $0.verdict.isConcerned }
        let name = version.map { "\(plugin) \($0)" } ?? plugin
        guard isWhole else {
            return lines + ["\(name): \(kept) of \(concerned) rules kept, of those that were asked for"]
        }
        if let tier {
            lines.append("\(name): \(tier.name), \(kept) of \(concerned) rules kept: \(tier.text)")
        } else {
            lines.append("\(name): no tier, \(kept) of \(concerned) rules kept")
        }
        let next = Tier.allCases.first { $0 > tier ?? .bronze }
        if tier != .platinum, let wanted = tier == nil ? .bronze : next {
            let left = findings.filter { $0.rule.tier == wanted && $0.verdict.isFault }
            lines.append("for \(wanted.name) mend: \(left.map(\.rule.name).joined(separator: ", "))")
        }
        return lines
    }

    // MARK: - For programs

    package struct Document: Encodable {
        struct Entry: Encodable {
            var rule, tier, text, verdict: String
            var seen: [String]?
            var reason, repair: String?
            var seconds: Double
        }
        var plugin: String
        var version: String?
        var program: String
        var tier: String?
        var rules: [Entry]
    }

    package var document: Document {
        Document(
            plugin: plugin, version: version, program: program, tier: tier?.name,
            rules: findings.map { finding in
                let rule = finding.rule
                var entry = Document.Entry(
                    rule: rule.name, tier: rule.tier.name, text: rule.text, verdict: "kept",
                    seconds: finding.seconds)
                switch finding.verdict {
                case .kept: break
                case .broken(let seen): (entry.verdict, entry.seen, entry.repair) = ("broken", seen, rule.repair)
                case .notConcerned(let reason): (entry.verdict, entry.reason) = ("notConcerned", reason)
                case .open(let reason): (entry.verdict, entry.reason) = ("open", reason)
                }
                return entry
            })
    }

    /// The report in JUnit's format for continuous integration, with a case for each rule.
    package var junit: String {
        let failures = broken.count
        let skipped = findings.count { $0.verdict != .kept } - failures
        let cases = findings.map { finding -> String in
            let head =
                "  <testcase classname=\"\(xml(plugin)).\(finding.rule.tier.name)\" name=\"\(finding.rule.name)\" time=\"\(finding.seconds)\""
            switch finding.verdict {
            case .kept: return head + "/>"
            case .broken(let seen):
                return head + ">\n    <failure message=\"\(xml(finding.rule.text))\">"
                    + xml((seen + [finding.rule.repair]).joined(separator: "\n")) + "</failure>\n  </testcase>"
            case .notConcerned(let reason), .open(let reason):
                return head + "><skipped message=\"\(xml(reason))\"/></testcase>"
            }
        }
        return """
            <?xml version="1.0" encoding="UTF-8"?>
            <testsuite name="\(xml(plugin))" tests="\(findings.count)" failures="\(failures)" skipped="\(skipped)">
            \(cases.joined(separator: "\n"))
            </testsuite>

            """
    }

    private func xml(_ text: String) -> String { Markup.escaped(text, for: .xml) }
}
