import HubSettings
import HubWire
import Testing

@testable import HubCore

/// Types that an instance declares at run time, and the grants for them.
@Suite struct DeclareTests {
    private static func declares(_ ids: String...) -> String {
        let types = ids.map { #"{"id":"\#($0)","kind":"other"}"# }.joined(separator: ",")
        return #","declares":[\#(types)]"#
    }

    private static func record(_ type: String) -> String {
        #"{"type":"\#(type)","value":"v","start":"2024-03-15T07:30:05Z","key":"\#(type)"}"#
    }

    @Test func `R4.27 R4.28 a grant for a vendor's prefix includes its declared types, also those of a later HELLO`()
        async throws
    {
        var setting = Setting()
        setting.plugins = [PluginInstance(name: "cloud")]
        setting.manifests["cloud"] = Manifest(
            name: "cloud", summary: "", version: "1", writes: ["weight", "x.acme.*"])
        try await withHub(setting) { hub in
            let cloud = try await hub.peer()
            var welcome = try await cloud.hello("cloud")
            #expect(welcome["grants"]["write"]["types"] == JSON(#"["weight"]"#))
            welcome = try await cloud.hello("cloud", Self.declares("x.acme.scale.mood", "x.other.mood"))
            #expect(welcome["grants"]["write"]["types"] == JSON(#"["weight","x.acme.scale.mood"]"#))
            let answer = try await cloud.give([
                Self.record("x.acme.scale.mood"), Self.record("x.other.mood"), weight("w"),
            ])
            #expect(answer.results == ["stored", "forbidden", "stored"])
            let refused = try await cloud.ask(
                "HELLO",
                #"{"protocol":[1],"instance":"cloud","plugin":"cloud","version":"1"\#(Self.declares("weight"))}"#)
            #expect(refused.code == "field", "\(refused)")
            try await cloud.hello("cloud", Self.declares("x.acme.scale.mood"))
        }
    }

    @Test(
        arguments: [
            (["*"], ["x.a.*", "weight"], ["x.a.*", "weight"]), (["x.a.*"], ["*"], ["x.a.*"]),
            (["x.a.*", "weight"], ["x.a.b"], ["x.a.b"]), (["x.a.b", "x.a.c"], ["x.a.*"], ["x.a.b", "x.a.c"]),
            (["x.a.*"], ["x.b.*"], []), (["x.a.*"], ["x.ab.c"], []), (["weight"], ["*"], ["weight"]),
            (["bodyMass"], ["weight"], ["weight"]), (["*"], ["*"], ["*"]),
        ] as [([String], [String], [String])])
    func `R4.28 grants in hub.conf narrow the requested types, including patterns`(
        asked: [String], granted: [String], expected: [String]
    ) {
        let instance = PluginInstance(name: "i", grants: PluginInstance.Grants(write: granted))
        let policy = InstancePolicy(
            instance, Manifest(name: "i", summary: "", version: "1", writes: asked))
        #expect(policy.grants.write.types == expected)
    }
}
