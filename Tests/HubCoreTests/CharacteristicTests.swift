import HubSettings
import HubWire
import Samples
import Testing

@testable import HubCore

/// The characteristics of persons, such as sex and date of birth.
@Suite struct CharacteristicTests {
    private func record(_ type: String, _ value: String, _ day: Int, _ key: String) -> String {
        #"{"type":"\#(type)","value":"\#(value)","start":"2024-03-\#(day)T07:30:00+01:00","key":"\#(key)"}"#
    }

    @Test func `R8.62 for each person and type the value in hub.conf applies, else the one with the latest start`()
        async throws
    {
        var me = PersonSection(name: "me")
        (me.sex, me.birthDate) = (.female, LocalDate("1984-05-06"))
        var setting = Setting()
        setting.people = [me]
        try await withHub(setting) { hub in
            let (source, owner) = (try await hub.client("script"), try await hub.client("owner"))
            func told() async throws -> JSON {
                try await owner.query("", want: "persons").body["persons"][0]["characteristics"]
            }
            let types = TypeRegistry.standard.all.filter { $0.kind == .characteristic }.map(\.id.rawValue)
            #expect(try await told().names == Set(types), "each characteristic has a member, set or not")
            #expect(try await told()["bloodType"].names == [], "not set")
            #expect(try await told()["dateOfBirth"].fits(#"{"value":"1984-05-06","from":"hub.conf"}"#))
            let answer = try await source.give([
                record("bloodType", "aPositive", 12, "a"), record("bloodType", "oNegative", 11, "b"),
                record("biologicalSex", "male", 12, "c"), record("dateOfBirth", "1984-05-06", 12, "d"),
                record("fitzpatrickSkinType", "III", 12, "e"), record("fitzpatrickSkinType", "notSet", 13, "f"),
                record("dateOfBirth", "notSet", 11, "g"),
            ])
            #expect(answer.results == Array(repeating: "stored", count: 7), "\(answer.results)")
            let now = try await told()
            #expect(now["bloodType"].fits(#"{"value":"aPositive","from":"record","number":1,"start":"*"}"#))
            #expect(
                now["biologicalSex"].fits(
                    #"{"value":"female","from":"hub.conf","overruled":{"value":"male","number":3,"start":"*"}}"#))
            #expect(now["dateOfBirth"].names == ["value", "from"], "the record has the same value")
            #expect(now["fitzpatrickSkinType"].fits(#"{"from":"record","number":6}"#))
            #expect(now["fitzpatrickSkinType"]["value"].string == nil, "the record says that it is not set")
        }
    }
}
