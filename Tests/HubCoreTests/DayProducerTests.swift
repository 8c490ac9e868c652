import HubSettings
import HubWire
import Testing

@testable import HubCore

/// Warnings for sinks that wait for day values which no plugin makes.
@Suite struct DayProducerTests {
    private func warnings(_ toml: String, _ uses: [String: DayUse]) throws -> [String: String] {
        let loaded = HubConfiguration.load(text: toml, file: "hub.conf", environment: .process()) { _, _ in [] }
        let configuration = try #require(loaded.configuration, "\(loaded.problems)")
        return DayProducers(configuration, uses).warnings.compactMapValues { $0.first?.reason }
    }

    private static let exist = "[plugin.exist]\nexecutable = \"/bin/true\"\n"

    @Test func `a sink of day values that no plugin makes gets a warning with the lines to add`() throws {
        let reads = ["exist": DayUse(reads: ["weight", "stepCount"])]
        #expect(
            try warnings(Self.exist, reads)["exist"]
                == "waits for day values of stepCount, weight, which no instance computes: "
                + "add [plugin.gap-filler] with enabled = true and types = [\"stepCount\", \"weight\"]")
        let off = Self.exist + "[plugin.gap-filler]\nexecutable = \"/bin/true\"\nenabled = false\n"
        #expect(
            try warnings(off, reads)["exist"]?.hasSuffix(
                "write enabled = true and types = [\"stepCount\", \"weight\"] into [plugin.gap-filler]") == true)
    }

    @Test func `the warning names the types that the producer lacks, and suggests a list with its present types`()
        throws
    {
        let toml = Self.exist + "[plugin.filler]\nkind = \"gap-filler\"\nexecutable = \"/bin/true\"\n"
        var uses = [
            "exist": DayUse(reads: ["weight", "stepCount"]), "filler": DayUse(makes: ["weight", "heartRate"]),
        ]
        #expect(
            try warnings(toml, uses)["exist"]
                == "waits for day values of stepCount, which no instance computes: "
                + "write types = [\"heartRate\", \"stepCount\", \"weight\"] into [plugin.filler]")
        uses["filler"]?.makes?.append("stepCount")
        #expect(try warnings(toml, uses).isEmpty)
    }

    @Test func `a sink of samples gets no warning, because people may enter samples by hand`() throws {
        #expect(try warnings(Self.exist, [:]).isEmpty)
        #expect(try warnings(Self.exist, ["exist": DayUse(makes: ["weight"])]).isEmpty)
    }

    @Test func `a remote producer cannot be asked, and gives no warning`() throws {
        let toml = Self.exist + "[plugin.gap-filler]\nremote = true\n"
        #expect(try warnings(toml, ["exist": DayUse(reads: ["weight"])]).isEmpty)
    }

    @Test func `status names the day values that a sink waits for if there are samples but no days`()
        async throws
    {
        var setting = Setting()
        setting.plugins = [PluginInstance(name: "target", executable: "/bin/true")]
        setting.manifests["target"] = Manifest(
            name: "target", summary: "A target.", version: "1", reads: ["*"], sink: SinkAbilities())
        try await withHub(setting) { hub in
            let target = try await hub.client("target")
            await target.say(
                "WANT",
                #"{"want":"days","start":"beginning","types":["weight","stepCount"],"kinds":["day"],\#(Peer.credit)}"#)
            let owner = try await hub.client("owner")
            func sink() async throws -> JSON { try await owner.status()["sinks"][0] }
            try await eventually("the sink is open") { try await sink()["open"].truth == true }
            #expect(try await sink()["well"].truth == true, "there is nothing to make days of")
            let scale = try await hub.client("scale")
            _ = try await scale.give([
                #"{"type":"weight","value":70,"unit":"kg","start":"2024-03-15T07:30:05+01:00","key":"a"}"#
            ])
            let waiting = try await sink()
            #expect(waiting["well"].truth == false, "\(waiting)")
            #expect(
                waiting["note"].string
                    == "no instance computes day values of weight, which it waits for: "
                    + "add [plugin.gap-filler] with enabled = true and types = [\"weight\"], then hub apply")
        }
    }
}
