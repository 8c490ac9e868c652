import HubSettings
import HubWire
import Samples
import Testing

/// `[priority.NAME]`: the order in which sources count.
@Suite struct PriorityTests {
    private let plugins = "[plugin.watch]\nenabled = false\n[plugin.phone]\nenabled = false\n[person.anna]\n"

    @Test func `orders are read in the order of the file, with their types and persons or for all`() throws {
        let loaded = load(
            plugins
                + "[priority.steps]\ntypes = ['steps', 'x.acme.glow']\npersons = ['anna']\nsources = ['watch', 'phone/bag', 'hand']\n[priority.all]\nsources = ['phone']\n"
                .replacing("'steps'", with: "'stepCount'"))
        #expect(loaded.lines == [])
        let orders = try #require(loaded.configuration?.priorities)
        #expect(
            orders == [
                PrioritySection(
                    name: "steps", types: [try TypeID("stepCount"), try TypeID("x.acme.glow")], persons: ["anna"],
                    sources: ["watch", "phone/bag", "hand"]), PrioritySection(name: "all", sources: ["phone"]),
            ])
        let steps = try TypeID("stepCount")
        #expect(orders[0].concerns(steps, of: "anna"))
        #expect(!orders[0].concerns(.weight, of: "anna") && !orders[0].concerns(steps, of: "ben"))
        #expect(orders[1].concerns(.weight, of: "ben"))
    }

    @Test(arguments: [
        ("", "sources: missing, and needed"), ("sources = []", "sources: expected at least one"),
        ("sources = ['watch', 'watch']", "sources = \"watch\": it is named twice"),
        ("sources = ['watch']\ntypes = ['stepsCount']", "there is no such type; did you mean stepCount?"),
        ("sources = ['watch']\npersons = ['ana']", "there is no [person.ana]; did you mean anna?"),
    ]) func `a mistake in an order is reported at its place`(_ order: String, _ complaint: String) {
        let loaded = load(plugins + "[priority.r]\n\(order)\n")
        #expect(loaded.configuration == nil)
        #expect(loaded.lines.contains { $0.contains("[priority.r]") && $0.contains(complaint) }, "\(loaded.lines)")
    }

    @Test func `an unknown kind and an order without effect give warnings, and both orders are kept`() throws {
        let odd = load(plugins + "[priority.a]\nsources = ['wach', 'hand']\n")
        #expect(odd.lines.count == 1 && odd.lines[0].contains("did you mean watch?"), "\(odd.lines)")
        #expect(odd.configuration?.priorities.count == 1)
        let covered = load(
            plugins + "[priority.a]\nsources = ['watch']\n[priority.b]\ntypes = ['weight']\nsources = ['phone']\n")
        #expect(
            covered.lines.count == 1 && covered.lines[0].contains("[priority.a] stands before it"), "\(covered.lines)")
        let apart = load(
            plugins + "[priority.a]\ntypes = ['height']\nsources = ['watch']\n[priority.b]\nsources = ['phone']\n")
        #expect(apart.lines == [])
    }

    @Test func `a changed order is a separate step of the plan and restarts no instance`() throws {
        let before = try #require(load(plugins).configuration)
        let after = try #require(load(plugins + "[priority.a]\nsources = ['watch']\n").configuration)
        let plan = ConfigurationPlan(from: before, to: after)
        #expect(plan.prioritiesChange && plan.hubChanges.isEmpty && plan.personChanges.isEmpty)
        #expect(plan.instances.values.allSatisfy { $0 == .leave })
        #expect(!ConfigurationPlan(from: after, to: after).prioritiesChange)
    }
}
