import HubSettings
import HubWire
import Testing

@Suite struct PlanTests {
    private func configuration(_ text: String) throws -> HubConfiguration {
        let loaded = load(text)
        return try #require(loaded.configuration, "\(loaded.lines)")
    }

    @Test func `the same file changes nothing`() throws {
        let plan = ConfigurationPlan(from: try configuration(goodFile), to: try configuration(goodFile))
        #expect(plan.hubChanges == [] && plan.personChanges == [])
        #expect(plan.instances == ["ihealth-hs3": .leave, "exist": .leave])
    }

    @Test func `only changed instances restart`() throws {
        let old = try configuration(
            "[person.a]\n[plugin.exist]\npersons = ['a']\n[plugin.ihealth-hs3]\naddress = '00:4D:32:1A:2B:3C'\n[plugin.ihealth-hs4]\naddress = '00:4D:32:1A:2B:3C'\n"
        )
        let new = try configuration(
            "[hub]\nkeep_raw = true\nlive_per_second = 400\nlog_level = 'debug'\n[person.a]\nheight = 170\n[plugin.exist]\npersons = ['a']\nkeep_raw = false\n[plugin.ihealth-hs3]\naddress = '00:4D:32:1A:2B:3D'\nkeep_raw = false\n[plugin.ihealth-hs4]\nenabled = false\n[plugin.ihealth-hs5]\naddress = '00:4D:32:1A:2B:3C'\n"
        )
        let plan = ConfigurationPlan(from: old, to: new)
        #expect(plan.hubChanges == ["log_level", "keep_raw", "live_per_second"])
        #expect(plan.personChanges == ["a"])
        #expect(
            plan.instances == ["exist": .leave, "ihealth-hs3": .restart, "ihealth-hs4": .stop, "ihealth-hs5": .start])
    }

    @Test func `a new person restarts only the instances that are for all persons`() throws {
        let text = "[person.a]\n[plugin.exist]\n[plugin.ihealth-hs3]\naddress = '00:4D:32:1A:2B:3C'\npersons = ['a']\n"
        let plan = ConfigurationPlan(from: try configuration(text), to: try configuration(text + "[person.b]\n"))
        #expect(plan.instances == ["exist": .restart, "ihealth-hs3": .leave])
    }

    @Test func `a changed secret restarts its instance`() throws {
        let text = "[plugin.exist]\nclient_secret = '${EXIST_SECRET}'"
        var environment = SettingsEnvironment.sample
        environment.variables["EXIST_SECRET"] = "another"
        let new = try #require(load(text, environment: environment).configuration)
        #expect(ConfigurationPlan(from: try configuration(text), to: new).instances == ["exist": .restart])
    }
}
