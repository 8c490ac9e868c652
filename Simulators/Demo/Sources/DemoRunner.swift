import Foundation
import HubClient
import HubWire

/// The outcome of a step of the plan.
enum DemoOutcome: Sendable {
    /// The hub's decision about a weigh-in.
    struct Decision: Sendable {
        /// `nil` if it waits in the inbox.
        var person: String?
        /// The deciding rule, with its odds.
        var why: String
        /// The body fat as a fraction, if the scale measures it.
        var fat: Double?
        /// Whether the scale's clock was wrong.
        var isClockSuspect = false
    }

    case decided(Decision)
    /// The scale stores it in its memory.
    case kept
    /// The weigh-ins in the scale's memory, with `nil` for those that did not arrive in time; and whether the link was cut meanwhile.
    case remembered([(weighing: DemoWeighing, decision: Decision?)], isCut: Bool)
    /// The connector's error message.
    case fault(String)
    case done
    /// Not observed in time; the account will show it.
    case unseen
}

/// Executes a plan: one task for each scale performs its steps at the hub's time and waits for their results.
struct DemoRunner: Sendable {
    let plan: DemoPlan
    let scales: [DemoScale: ScaleProcess]
    let calendar: DemoCalendar
    let witness: DemoObserver
    let door: String
    /// The HS5's user number of each person.
    let numbers: [String: String]
    let story: DemoStory

    /// How long to wait for an expected result, in real time.
    private static let patience = Duration.seconds(20)

    /// Returns when all steps are done, or the task is cancelled.
    func play() async {
        await withTaskGroup(of: Void.self) { group in
            for scale in scales.values {
                let steps = plan.steps.enumerated().filter { $0.element.scale == scale.scale }
                group.addTask { await play(steps.map { ($0.offset, $0.element) }, on: scale) }
            }
        }
    }

    /// Reconnects every scale, and waits until the hub has all their weigh-ins.
    func settle() async {
        for scale in scales.values { scale.type("back") }
        guard await !areSeen(upTo: Self.patience) else { return }
        // A new session begins with the memory.
        for scale in scales.values { scale.type("disconnect") }
        _ = await areSeen(upTo: Self.patience)
    }

    private func areSeen(upTo patience: Duration) async -> Bool {
        let places = Set(told.keys)
        return await witness.seen.wait(upTo: patience) { seen in places.allSatisfy { seen.weighings[$0] != nil } }
    }

    /// The weigh-ins that the scales report, with the count of each weight.
    var told: [DemoWeighing.Place: Int] {
        var told: [DemoWeighing.Place: Int] = [:]
        for scale in scales.values {
            for weighing in scale.diary.value.weighings {
                guard let kilograms = Double(weighing.kilograms) else { continue }
                let tenths = Int((kilograms * 10).rounded())
                told[DemoWeighing.Place(device: scale.scale.device, tenthsOfKilogram: tenths), default: 0] += 1
            }
        }
        return told
    }

    // MARK: One scale

    /// The state of a scale between two steps.
    private struct Condition {
        var isAway = false
        /// The weigh-ins that are only in its memory.
        var kept: [DemoWeighing] = []
    }

    private func play(_ steps: [(place: Int, step: DemoStep)], on scale: ScaleProcess) async {
        var condition = Condition()
        for (place, step) in steps {
            // The first step contains the events from before the month.
            if place > 0 { try? await Task.sleep(until: calendar.moment(of: step.time), clock: .continuous) }
            guard !Task.isCancelled else { return }
            await story.begin(step)
            let outcome = await perform(step.deed, scale, &condition)
            await story.tell(place, step, outcome)
        }
    }

    private func perform(
        _ deed: DemoStep.Action, _ scale: ScaleProcess, _ condition: inout Condition
    ) async -> DemoOutcome {
        switch deed {
        case .remembers(let weighings):
            // The current session ends, and a new one begins with the memory.
            scale.type("away")
            for weighing in weighings { scale.type("store \(weighing.kilograms) \(weighing.time.local)") }
            scale.type("clock +3h")
            scale.type("back")
            return .remembered(await decisions(on: weighings), isCut: false)
        case .weighs(let weighing):
            guard !condition.isAway else {
                await scale.step(on: weighing, user: user(of: weighing))
                condition.kept.append(weighing)
                return .kept
            }
            return await weigh(weighing, scale)
        case .fails(let error, _):
            let before = witness.seen.value.faults[scale.scale, default: []].count
            let ready = scale.diary.value.clockSet
            scale.type("fail \(error)")
            let isTold = await witness.seen.wait(upTo: Self.patience) { [scale = scale.scale] seen in
                seen.faults[scale, default: []].count > before
            }
            await beReady(scale, after: ready)
            let text = witness.seen.value.faults[scale.scale]?.last
            return isTold ? text.map(DemoOutcome.fault) ?? .unseen : .unseen
        case .leaves:
            scale.type("away")
            condition.isAway = true
            return .done
        case .returns(_, let fault):
            let before = witness.seen.value.memories[scale.scale, default: 0]
            let faults = scale.diary.value.faults
            if let fault { scale.type("fault \(fault)") }
            scale.type("back")
            let decisions = await decisions(on: condition.kept)
            await readMemory(scale, after: before)
            condition = Condition()
            return .remembered(decisions, isCut: scale.diary.value.faults > faults)
        case .newBatteries:
            let before = witness.seen.value.memories[scale.scale, default: 0]
            scale.type("restart")
            return await readMemory(scale, after: before) ? .done : .unseen
        }
    }

    private func weigh(_ weighing: DemoWeighing, _ scale: ScaleProcess) async -> DemoOutcome {
        let before = scale.diary.value
        await scale.step(on: weighing, user: user(of: weighing))
        if scale.scale == .hs4 {
            await scale.diary.wait(upTo: Self.patience) {
                $0.confirmed > before.confirmed || $0.stored > before.stored
            }
            // The scale was not ready to measure, and sends its memory only at the start of a session.
            if scale.diary.value.stored > before.stored { scale.type("disconnect") }
        }
        let outcome = await decision(on: weighing).map(DemoOutcome.decided) ?? .unseen
        await beReady(scale, after: before.clockSet)
        return outcome
    }

    /// Waits for a HS4, which does not measure until the host starts a new measurement.
    private func beReady(_ scale: ScaleProcess, after clockSet: Int) async {
        guard scale.scale == .hs4 else { return }
        await scale.diary.wait(upTo: .seconds(3)) { $0.clockSet > clockSet }
    }

    @discardableResult
    private func readMemory(_ scale: ScaleProcess, after before: Int) async -> Bool {
        await witness.seen.wait(upTo: Self.patience) { [scale = scale.scale] seen in
            seen.memories[scale, default: 0] > before
        }
    }

    private func user(of weighing: DemoWeighing) -> String? {
        weighing.scale == .hs5 ? weighing.person.flatMap { numbers[$0] } : nil
    }

    // MARK: The hub's decisions

    private func decisions(
        on weighings: [DemoWeighing]
    ) async -> [(weighing: DemoWeighing, decision: DemoOutcome.Decision?)] {
        var decisions: [(DemoWeighing, DemoOutcome.Decision?)] = []
        for weighing in weighings { decisions.append((weighing, await decision(on: weighing))) }
        return decisions
    }

    private func decision(on weighing: DemoWeighing) async -> DemoOutcome.Decision? {
        let (place, isWhole) = (weighing.place, weighing.parts == 1)
        let isSeen = await witness.seen.wait(upTo: Self.patience) { seen in
            guard let sighting = seen.weighings[place] else { return false }
            return isWhole || sighting.group.map { seen.fat[$0] != nil } ?? false
        }
        let seen = witness.seen.value
        guard isSeen, let sighting = seen.weighings[place] else { return nil }
        let why = await ruling(on: sighting)
        let fat = isWhole ? nil : sighting.group.flatMap { seen.fat[$0] }
        return DemoOutcome.Decision(
            person: sighting.person, why: why, fat: fat, isClockSuspect: sighting.isClockSuspect)
    }

    private struct Trace: Decodable {
        struct Version: Decodable { var ruling: Ruling? }
        struct Ruling: Decodable {
            var rule: String
            var odds: String?
        }
        var versions: [Version]
    }

    private func ruling(on sighting: DemoObserver.HubWeighIn) async -> String {
        let door = door
        let trace = try? await blocking {
            let client = try DoorClient(endpoint: door, command: "demo")
            return try JSON.answer(Trace.self, try client.ask(.trace, number: sighting.number))
        }
        let ruling = trace?.versions.last?.ruling
        // The weight itself is shown elsewhere in the line.
        let odds = (ruling?.odds ?? sighting.reason).map { text in
            text.contains(" kg: ") ? String(text.split(separator: ": ", maxSplits: 1).last ?? "") : text
        }
        switch (ruling?.rule, sighting.person) {
        case ("subject", _?): return "user of the scale"
        case (_, let name?):
            let share = odds?.split(separator: ", ").first { $0.hasPrefix(name) }
            return "by weight" + (share.map { ", \($0.dropFirst(name.count + 1))" } ?? "")
        case (_, nil): return odds ?? ""
        }
    }
}
