import HealthText
import Foundation
import HubClient
import HubWire

/// Prints the events line by line in the order of the plan, even if they finish in another order.
actor DemoStory {
    private let plan: DemoPlan
    private let colours: Bool
    /// Whether stdout is reserved for results, so that the story goes to stderr.
    private let isAside: Bool
    private let onOutputClosed: @Sendable () -> Void
    /// Finished steps that wait for an earlier one.
    private var waiting: [Int: (lines: [String], hints: [String])] = [:]
    private var next = 0
    private var day: Int?
    private var newest: DemoTime?
    private var weighIns = 0
    private var tour = DemoTour()
    /// Lines that wait for the first lines; `nil` after those are printed.
    private var held: [String]? = []

    private static let width = 80

    init(_ plan: DemoPlan, isAside: Bool, onOutputClosed: @escaping @Sendable () -> Void) {
        (self.plan, self.isAside, self.onOutputClosed) = (plan, isAside, onOutputClosed)
        colours = !isAside && Terminal.hasColours
    }

    /// Enables hints about the page, because it is open.
    func show() { tour.hasBegun = true }

    // MARK: The bar

    /// Notes the start of a step.
    func begin(_ step: DemoStep) {
        newest = max(newest ?? step.time, step.time)
        weighIns += step.weighings.count
        draw(nil)
    }

    /// Draws the progress of the month, with transient values that are not stored.
    func draw(_ passing: String?) {
        guard isatty(STDERR_FILENO) == 1, let newest else { return }
        let bar = ProgressBar.text(
            newest.dayName, Int64(newest.day - 1) * 1_440 + Int64(newest.minute), Int64(plan.days) * 1_440)
        let line = "\(bar), \(NumberText.count(weighIns, "weigh-in"))" + (passing.map { ", \($0)" } ?? "")
        // A longer line would leave its end on the line above.
        Terminal.progress(String(line.prefix(DemoStory.width - 1)))
    }

    // MARK: The lines

    /// Prints the outcome of a step as soon as all earlier steps are printed.
    func tell(_ place: Int, _ step: DemoStep, _ outcome: DemoOutcome) {
        waiting[place] = (lines(step, outcome), DemoTour.hints(step, outcome))
        while let (lines, hints) = waiting.removeValue(forKey: next) {
            let time = plan.steps[next].time
            if day != time.day { say([time.dayName]) }
            day = time.day
            say(lines + tour.tell(hints).map { paint(.faint, $0) })
            next += 1
        }
    }

    /// Prints the remaining outcomes at the end, although earlier steps are missing.
    func end() {
        newest = nil
        say(waiting.sorted { $0.key < $1.key }.flatMap(\.value.lines))
        waiting = [:]
    }

    /// Prints a progress line, which the next line replaces on a terminal.
    func pass(_ line: String) {
        guard isatty(STDERR_FILENO) == 1 else { return say([line]) }
        Terminal.progress(String(line.prefix(DemoStory.width - 1)))
    }

    /// Prints the first lines, then those that waited.
    func begin(_ lines: [String]) {
        let rest = held ?? []
        held = nil
        say(lines + rest)
    }

    /// Prints lines that are not part of the plan.
    func say(_ lines: [String]) {
        guard held == nil else { return held = (held ?? []) + lines }
        if isatty(STDERR_FILENO) == 1 { Terminal.progress("") }
        for line in lines {
            if isAside {
                Terminal.explain(line)
            } else {
                do { try Output.lines(line) } catch { onOutputClosed() }
            }
        }
        draw(nil)
    }

    private func lines(_ step: DemoStep, _ outcome: DemoOutcome) -> [String] {
        let head = "  \(step.time.clock)  \(step.scale.rawValue)  "
        switch step.deed {
        case .remembers(let weighings):
            let count = NumberText.count(weighings.count, "weigh-in")
            var lines = [head + "has \(count) in its memory, from before the hub"]
            if case .remembered(let decisions, _) = outcome,
                decisions.allSatisfy({ $0.decision?.isClockSuspect == true })
            {
                lines.append("              its clock was wrong: they are marked clockSuspect, and it is set")
            }
            return lines + memory(outcome)
        case .weighs(let weighing): return [line(head, weighing, outcome)]
        case .fails(_, let who):
            guard case .fault(let text) = outcome else {
                return [head + "shows an error, but does not report it to the hub"]
            }
            return [head + (who.map { "\($0): " } ?? "") + paint(.bad, "“\(PlainText.escaped(text))”")]
        case .leaves(let why): return [head + paint(.faint, why)]
        case .returns(let how, _):
            guard case .remembered(let decisions, let isCut) = outcome, !decisions.isEmpty else { return [head + how] }
            let cut = isCut ? ["              the link is cut in the middle of it, and it is read again"] : []
            return [head + "\(how): \(NumberText.count(decisions.count, "weigh-in")) out of its memory"] + cut
                + memory(outcome)
        case .newBatteries:
            if case .unseen = outcome { return [head + "gets new batteries, and does not come back"] }
            return [head + "gets new batteries; its memory is read again: nothing new"]
        }
    }

    private func memory(_ outcome: DemoOutcome) -> [String] {
        guard case .remembered(let decisions, _) = outcome else { return [] }
        return decisions.map { weighing, decision in
            let time = weighing.time
            let day = time.dayName.split(separator: " ").prefix(2).joined(separator: " ")
            return line(
                "    \(day.padding(toLength: 7, withPad: " ", startingAt: 0)) \(time.clock)  ", weighing,
                decision.map(DemoOutcome.decided) ?? .unseen)
        }
    }

    private func line(_ head: String, _ weighing: DemoWeighing, _ outcome: DemoOutcome) -> String {
        let who = DemoStory.words(weighing.who)
        var line = head + who + String(repeating: " ", count: max(1, 12 - who.count))
        line += String(repeating: " ", count: max(0, 5 - weighing.kilograms.count)) + weighing.kilograms + " kg"
        let (detail, shade, target): (String, StatusColour, String) =
            switch outcome {
            case .decided(let decision):
                (
                    decision.fat.map { ", fat \(NumberText.percent($0)) %" }
                        ?? (weighing.hasShoes ? ", with shoes on" : ""),
                    decision.person == nil ? .doubtful : .good,
                    decision.person.map { "\($0) (\(decision.why))" } ?? "inbox: \(decision.why)"
                )
            case .kept: ("", .faint, "kept in the scale")
            default: ("", .bad, "not seen in the hub yet")
            }
        line += detail
        let decided = "→ \(target)"
        let gap = max(1, 50 - line.count)
        if line.count + gap + decided.count <= DemoStory.width {
            return line + String(repeating: " ", count: gap) + paint(shade, decided)
        }
        if line.count + 1 + decided.count <= DemoStory.width { return line + " " + paint(shade, decided) }
        return line + "\n" + String(repeating: " ", count: 14) + paint(shade, decided)
    }

    static func words(_ who: DemoWeighing.Who) -> String {
        switch who {
        case .person(let name), .guest(let name), .misread(let name): name
        case .encumbered(let name, let thing): "\(name) with \(thing)"
        }
    }

    private func paint(_ shade: StatusColour, _ text: String) -> String { shade.paint(text, colours) }
}
