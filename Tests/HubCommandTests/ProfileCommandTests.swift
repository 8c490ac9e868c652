import Foundation
import HealthText
import HubClient
import HubCore
import HubProcess
import HubSettings
import HubWire
import Samples
import Testing

@testable import HubCommand

/// `hub profile`: facts about the people themselves.
@Suite struct ProfileCommandTests {
    @Test func `a characteristic is parsed from common words for it`() throws {
        let read: [(TypeID, String, String)] = [
            (.bloodType, "A+", "aPositive"), (.bloodType, "a-", "aNegative"), (.bloodType, "0+", "oPositive"),
            (.bloodType, "AB −", "abNegative"), (.bloodType, "bPositive", "bPositive"),
            (.bloodType, "not-set", "notSet"), (.biologicalSex, "Female", "female"),
            (.biologicalSex, "not set", "notSet"), (.fitzpatrickSkinType, "iv", "IV"), (.wheelchairUse, "No", "no"),
            (.activityMoveMode, "move-time", "appleMoveTime"), (.dateOfBirth, "1984-05-06", "1984-05-06"),
            (.dateOfBirth, "not-set", "notSet"),
        ]
        for (type, text, value) in read { #expect(try ProfileWords.value(text, of: type) == value, "\(type) \(text)") }
        for (type, text) in [
            (TypeID.bloodType, "A"), (.bloodType, "C+"), (.biologicalSex, "f"), (.fitzpatrickSkinType, "VII"),
            (.activityMoveMode, "not-set"), (.dateOfBirth, "1985-02-29"), (.dateOfBirth, "5/6/1984"),
            (.wheelchairUse, ""),
        ] { #expect(throws: Failure.self, "\(type) \(text)") { try ProfileWords.value(text, of: type) } }
        let failure = #expect(throws: Failure.self) { try ProfileWords.value("C+", of: .bloodType) }
        #expect(
            failure?.message == "\"C+\" is not a value of bloodType; it has not-set, A+, A-, B+, B-, AB+, AB-, O+, O-")
    }

    @Test func `seed 004: a date of birth gives an age, and what is not known is not set, and has no age`() throws {
        var anna = HubStatus.PersonStatus(name: "anna", uid: "u", zone: "Europe/Berlin")
        anna.characteristics = [
            "dateOfBirth": .init(value: "1984-05-06", from: .configuration),
            "biologicalSex": .init(value: "female", from: .configuration, overruled: .init(value: "male", number: 12)),
            "bloodType": .init(value: "abNegative", from: .record, number: 17, start: "2026-03-01T07:30:00+01:00"),
            "wheelchairUse": .init(from: .record, number: 18, start: "2026-03-02T07:30:00+01:00"),
            "cardioFitnessMedicationsUse": .init(),
        ]
        // It is already the 6th in Berlin.
        let now = try Timestamp(parsing: "2026-05-05T22:30:00Z")
        let reader = DisplayPreferences(locale: DisplayPreferences.locale("de_DE"))
        let rows = ProfileText.rows(try ProfileReport(anna, on: nil, now: now), reader)
        #expect(
            rows.map { $0.joined(separator: "|") } == [
                "anna|Date of birth|6. Mai 1984, 42 years old|hub.conf",
                "anna|Biological sex|female|hub.conf; record 12 says male",
                "anna|Blood type|AB-|record 17 since 1. März 2026", "anna|Fitzpatrick skin type|not set|",
                "anna|Wheelchair use|not set|record 18 since 2. März 2026", "anna|Activity move mode|not set|",
            ])
        let before = try ProfileReport(anna, on: LocalDate("1984-05-05"), now: now)
        #expect(before.age == nil && ProfileText.rows(before, reader)[0][2] == "6. Mai 1984, not born yet")
        anna.characteristics = [:]
        let unknown = try ProfileReport(anna, on: nil, now: now)
        #expect(unknown.age == nil && ProfileText.rows(unknown, reader)[0][2] == "not set")
        #expect(try !JSON.line(unknown).contains("age"), "the JSON has no age either")
    }

    @Test func `a characteristic that hub.conf does not set can be entered, shown, retracted and queried by programs`()
        async throws
    {
        let hub = try await TestHub(
            "[person.anna]\nbirth_date = \"1988-02-29\"\nlocale = \"en_GB\"\nzone = \"UTC\"\n[person.ben]\nunit = \"lb\"\n"
        )
        let entered = try await hub.succeed(["profile", "anna", "--blood-type", "A+", "--sex", "female"])
        #expect(entered.errors.contains("1 was entered; hub retract 1 takes it back"))
        #expect(entered.output.contains("Blood type             A+"), "\(entered.output)")
        #expect(try await hub.run(["profile", "anna", "--blood-type", "a+"]).errors.contains("it is so already"))
        for (day, age) in [("2023-02-28", 34), ("2023-03-01", 35), ("2024-02-28", 35), ("2024-02-29", 36)] {
            let shown = try await hub.run(["profile", "anna", "--on", day])
            #expect(shown.output.contains("29 Feb 1988, \(age) years old"), "\(day): \(shown.output)")
        }
        let refused = try await hub.run(["profile", "anna", "--birth-date", "1988-03-01", "--wheelchair", "no"])
        #expect(refused.code == 64 && refused.errors.contains("change birth_date in [person.anna], then hub apply"))
        #expect(try await hub.run(["profile", "--blood-type", "B+"]).errors.contains("name one of: anna, ben"))
        #expect(try await hub.run(["profile", "anne"]).errors.contains("did you mean anna?"))
        let unborn = try await hub.run(["profile", "ben", "--birth-date", "9999-01-01", "--wheelchair", "yes"])
        #expect(unborn.code == HubExit.unhealthy.rawValue && unborn.errors.contains("1850-01-01 to start, or notSet"))

        let cleared = try await hub.run(["profile", "anna", "--blood-type", "not-set", "--json"])
        let told = try JSON.decode(Told.self, from: cleared.output.utf8)
        #expect(told.person == "anna" && told.age.map { $0 > 30 } == true)
        #expect(told.characteristics["bloodType"]?.from == .record && told.characteristics["bloodType"]?.value == nil)
        #expect(told.characteristics["biologicalSex"]?.value == "female")
        #expect(told.characteristics["wheelchairUse"] == HubStatus.Characteristic(), "no value was entered")
        #expect(try await hub.run(["retract", "3", "--yes"]).code == 0)
        #expect(try await hub.run(["profile", "anna"]).output.contains("Blood type             A+"))
        #expect(try await hub.run(["profile", "--json"]).output.split(separator: "\n").count == 2)
        #expect(try await hub.stop() == 0)
    }

    private struct Told: Decodable {
        let person, on: String
        let age: Int?
        let characteristics: [String: HubStatus.Characteristic]
    }

    @Test
    func `values use the person's settings in hub.conf or this machine's locale, and programs get every digit`()
        async throws
    {
        let hub = try await TestHub(
            "zone = \"Europe/Berlin\"\n[person.anna]\nlocale = \"de_DE\"\nunits = [\"height=ft\", \"bloodGlucose=mmol/L\"]\n[person.ben]\nunits = [\"weight=st\"]\n"
        )
        for (words, person) in [
            (["weight", "80.28584949kg"], "anna"), (["height", "1.778m"], "anna"),
            (["bloodGlucose", "5.0mmol/L"], "anna"),
            (["stepCount", "12345"], "anna"), (["weight", "80.28584949kg"], "ben"), (["height", "1.778m"], "ben"),
        ] {
            try await hub.succeed(
                ["log"] + words + ["--person", person, "--at", "2026-03-15T07:30:00+01:00", "--yes"])
        }
        func shown(_ person: String, _ locale: String) async throws -> String {
            try await hub.run(["samples", "--person", person], under: ["LC_ALL=\(locale)"]).output
        }
        let anna = try await shown("anna", "en_US.UTF-8")
        for value in ["80,3 kg", "5 ft 10 in", "5,0 mmol/L", "12.345", "15. März 2026 07:30:00 +01:00"] {
            #expect(anna.contains(value), "\(value): \(anna)")
        }
        let ben = try await shown("ben", "en_US.UTF-8")
        #expect(ben.contains("12 st 9 lb") && ben.contains("5 ft 10 in") && ben.contains("Mar 15, 2026"), "\(ben)")
        let plain = try await shown("ben", "C")
        #expect(plain.contains("177.8 cm") && plain.contains("2026-03-15 07:30:00 +01:00"), "\(plain)")
        let json = try await hub.run(["samples", "weight", "--person", "anna", "--json"], under: ["LC_ALL=de_DE"])
            .output
        #expect(json.contains(#""value":80.28584949,"unit":"kg","start":"2026-03-15T07:30:00+01:00""#), "\(json)")
        #expect(try await hub.stop() == 0)
    }
}
