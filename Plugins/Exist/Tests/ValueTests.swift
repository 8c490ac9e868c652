import ExistSimulation
import Foundation
import HubSettings
import PluginKit
import PluginTesting
import Testing
import WebFaults

@testable import Exist

struct ValueTests {
    private func value(_ number: Double, _ unit: String, as name: String, in target: String? = nil) throws -> String {
        let attribute = try #require(ExistAttribute.byName[name])
        return try ExistValue(number, unit: unit, as: attribute, in: target ?? attribute.source?.unit).digits
    }

    @Test func `units are converted exactly, and rounded once, half away from zero`() throws {
        #expect(try value(2_000, "kcal", as: "energy") == "8368")
        #expect(try value(72.125, "kg", as: "weight") == "72.13")
        #expect(try value(176.4, "lb", as: "weight") == "80.01")
        #expect(try value(80, "kg", as: "weight") == "80")
        #expect(try value(0.22154, "%", as: "body_fat") == "0.2215")
        #expect(try value(1.5, "g", as: "sodium") == "1500")
        #expect(try value(0.25, "L", as: "water") == "250")
        #expect(try value(1_234.5, "m", as: "steps_elevation") == "1.235")
        #expect(try value(61.5, "count/min", as: "heartrate_resting") == "62")
        #expect(try value(1.825, "m", as: "height_cm") == "182.5")
    }

    @Test func `times are minutes after midnight or after midday`() throws {
        func midday(_ minute: Double) throws -> String { try value(minute, "min", as: "sleep_start", in: "min") }
        #expect(try midday(22 * 60 + 30) == "630" && midday(23 * 60 + 15) == "675" && midday(0) == "720")
        #expect(try midday(45) == "765" && midday(11 * 60 + 59) == "1439" && midday(12 * 60) == "0")
        #expect(try value(390, "min", as: "sleep_end", in: "min") == "390")
        #expect(throws: ExistValue.ValueError.self) { try value(1_440, "min", as: "sleep_end", in: "min") }
    }

    @Test func `the error for an unsuitable value does not contain the value`() throws {
        for (number, unit, name) in [
            (22.1, "%", "body_fat"), (Double.nan, "kg", "weight"), (80, "m", "weight"), (1e300, "count", "steps"),
            (10, "count", "mood"),
        ] {
            #expect(throws: ExistValue.ValueError.self) { try value(number, unit, as: name) }
        }
    }

    @Test func `every template is known with the group and type that the service gives it`() async throws {
        let scene = try await ExistScene()
        let pair = try await scene.send(
            "POST", url: "\(scene.base)/control/personal-token", json: #"{"user":"mira","client":"hub"}"#)
        let page = try await scene.send(
            "GET", url: "\(scene.base)/api/2/attributes/templates/?limit=100", token: pair.json?["access_token"]?.text)
        let templates = try #require(page.json?["results"]?.list)
        #expect(templates.count == 86)
        #expect(ExistAttribute.all.count { $0.isTemplate } == 86)
        for template in templates {
            let known = try #require(ExistAttribute.byName[template["name"]?.text ?? ""])
            #expect(known.group == template["group"]?["name"]?.text, "\(known.name)")
            #expect(known.type.rawValue == template["value_type"]?.integer, "\(known.name)")
        }
    }

    @Test func `every mapped type is a type of the hub, and its unit converts`() throws {
        for attribute in ExistAttribute.all {
            guard let source = attribute.source else { continue }
            let type = try #require(TypeRegistry.standard.type(source.type), "\(attribute.name)")
            #expect(type.kind == .quantity, "\(attribute.name)")
            if let unit = source.unit {
                #expect(throws: Never.self, "\(attribute.name)") {
                    _ = try HealthUnit(type.unit ?? "").convert(1, to: HealthUnit(unit))
                }
            }
        }
        #expect(ExistAttribute.all.count { $0.source != nil && $0.isTemplate } == 25)
    }

    @Test func `attributes are chosen by name, and an invalid choice is refused`() throws {
        let chosen = try AttributeChoice.read(["weight", "steps=stepCount/mean", "My median=bodyMass/median30"])
        #expect(chosen.map(\.name) == ["weight", "steps", "my_median"])
        #expect(chosen[1].source?.series == "mean" && chosen[1].source?.unit == "count")
        #expect(chosen[2].source?.type == .weight && chosen[2].label == "My median")
        for wrong in [["wieght"], ["mood_note=weight/mean30"], ["sleep"], ["weight", "weight"], [], ["x=nothing"]] {
            #expect(throws: PluginFailure.self) { try AttributeChoice.read(wrong) }
        }
    }

    @Test func `answers are matched to objects by name and date, in any order and wording`() throws {
        func results(_ json: String) throws -> [WriteAnswer.Result] {
            try JSONDecoder().decode(WriteAnswer.self, from: Data(json.utf8)).results(of: [
                .init(name: "weight", date: "2024-05-19"), .init(name: "steps", date: "2024-05-20"),
            ])
        }
        #expect(
            try results(
                #"{"success":[{"title":"weight","date":"2024-05-19","active":"true"}],"failed":[{"name":"steps","date":"2024-05-20","error_code":"validation","error":"No"}]}"#
            )
                == [.done(name: "weight"), .failed(code: "validation", text: "No")])
        #expect(
            try results(
                #"{"failed":[{"error_code":"missing_field","error":"Object at index 1 missing field(s) 'value'"}]}"#)
                == [.unknown, .failed(code: "missing_field", text: "Object at index 1 missing field(s) 'value'")])
    }

    @Test func `rests grow, calls are counted over an hour, and calls continue after the clock goes back`() {
        var account = AccountState()
        for now in 0..<5 { account.calls.append(Int64(now)) }
        #expect(account.wait(for: 6, at: 10) == nil)
        #expect(account.wait(for: 5, at: 10) == 3_600_000_000 - 9 as Int64)
        #expect(account.wait(for: 5, at: 3_600_000_010) == nil)
        // A slow call counts from its answer, because the service may have counted it as late as then.
        account.calls = [0]
        account.answered(at: 1_000)
        #expect(account.wait(for: 1, at: 3_600_000_010) == 991)
        account.calls = [9_000_000_000_000]
        #expect((account.wait(for: 1, at: 1_000) ?? 0) <= 3_600_000_001)
        account.rest(for: .seconds(Int64.max / 1_000_000), at: 0, "for ever")
        let left = account.remainingPause(at: -999_999_999_999_999)?.microseconds ?? 0
        #expect(left <= 86_400_000_000)
        for count in 1...9 {
            let rest = AccountState.backOff.wait(after: count)
            #expect(rest >= .seconds(30) && rest <= .seconds(4_320))
            #expect(AccountState.refusalBackOff.wait(after: count) <= .seconds(3_960))
        }
    }

    @Test func `a clock that is put back by a year does not make a rest longer`() throws {
        let (year, minute) = (31_536_000_000_000, 60_000_000) as (Int64, Int64)
        var account = AccountState()
        account.rest(for: .seconds(60), at: year, "busy")
        #expect(account.remainingPause(at: year + minute - 1)?.microseconds == 1)
        #expect(account.remainingPause(at: 0)?.microseconds == minute)
        #expect(account.remainingPause(at: minute - 1)?.microseconds == 1)
        #expect(account.remainingPause(at: minute) == nil)
    }

    @Test func `the plugin does not start with two persons, and settings without a client are refused`() async throws {
        let scene = try await ExistScene()
        await scene.hub.change { $0.persons = [.init(name: "mira", zone: "UTC"), .init(name: "anna", zone: "UTC")] }
        let run = scene.start()
        #expect(await run.end() == .settings)
        var values = scene.settings.values
        values["client_id"] = nil
        #expect(throws: PluginFailure.self) { try ExistSettings(PluginSettings(values)) }
    }

    @Test func `the manifest is sound, and sample.conf matches it`() throws {
        #expect(Exist.fullManifest.faults == [])
        let rendered = SampleConfiguration.render(instance: "exist", declarations: ExistSettings.declarations)
        let file = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../sample.conf")
        #expect(try String(contentsOf: file, encoding: .utf8) == rendered, "\(rendered)")
    }
}
