import HubSettings
import Samples
import Testing

/// `[person.…]`: what tells people apart.
@Suite struct PersonTests {
    private func problems(_ text: String) -> [String] {
        load("[hub]\ndata = \"/d\"\n" + text).problems.map(\.description)
    }

    @Test func `a person says what a scale needs to know, and what tells the weight from others'`() throws {
        let loaded = load(
            """
            [hub]
            data = "/d"
            assign_certainty = 0.9
            [person.anna]
            height = 168.5
            sex = "female"
            birth_date = "1984-05-06"
            athlete = false
            unit = "st"
            expected_weight = 62
            weight_tolerance = 2.5
            """)
        let configuration = try #require(loaded.configuration, "\(loaded.problems)")
        #expect(configuration.hub.assignCertainty == 0.9)
        let anna = try #require(configuration.persons.first)
        #expect(anna.expectedWeight == 62 && anna.weightTolerance == 2.5 && anna.unit == .stones)
        #expect(anna.birthDate == LocalDate("1984-05-06") && anna.sex == .female && anna.athlete == false)
        #expect(load("[hub]\ndata = \"/d\"\n").configuration?.hub.assignCertainty == 0.95)
    }

    @Test func `what says nothing so is refused with what is missing`() {
        #expect(
            problems("[person.a]\nweight_tolerance = 2\n") == [
                "hub.conf:4: [person.a] weight_tolerance = 2: says by how much expected_weight may be wrong, which is missing; write that too"
            ])
        #expect(
            problems("[person.a]\nbirth_date = \"1884-05-06\"\n") == [
                "hub.conf:4: [person.a] birth_date = \"1884-05-06\": expected a date from 1900-01-01 to today"
            ])
        #expect(problems("[person.a]\nexpected_weight = 0\n").count == 1)
        func born(_ day: String, clock: String = "system") -> [String] {
            var environment = SettingsEnvironment.sample
            environment.today = LocalDate("2026-11-21")?.daysSinceEpoch
            let text = "[hub]\ndata = \"/d\"\nclock = \"\(clock)\"\n[person.a]\nbirth_date = \"\(day)\"\n"
            return load(text, environment: environment).problems.map(\.description)
        }
        #expect(born("2026-11-21") == [] && born("2026-11-22") == [], "somewhere it is tomorrow already")
        #expect(
            born("9999-12-31") == [
                "hub.conf:5: [person.a] birth_date = \"9999-12-31\": expected a date from 1900-01-01 to today"
            ])
        #expect(born("2029-12-31").count == 1 && born("2029-12-31", clock: "2030-01-01T00:00:00Z@60") == [])
        #expect(problems("[person.a]\nexpected_wieght = 60\n").first?.contains("did you mean expected_weight?") == true)
    }

    @Test func `a person has a unit of their own for a type, under any of its names`() throws {
        let loaded = load(
            "[hub]\ndata = \"/d\"\n[person.a]\nlocale = \"en_GB\"\nunits = [\"bodyMass=st\", \"height=ft\", \"bloodGlucose=mmol/L\", \"bodyTemperature=°F\"]\n"
        )
        let person = try #require(loaded.configuration?.persons.first, "\(loaded.problems)")
        #expect(
            person.units == [.weight: "st", .height: "ft", .bloodGlucose: "mmol/L", .bodyTemperature: "degF"])
        #expect(person.locale == "en_GB")
    }

    @Test func `a unit that does not fit its type is refused, with those that do`() {
        func told(_ units: String) -> [String] {
            problems("[person.a]\nunits = [\(units)]\n").map { String($0.dropFirst("hub.conf:4: [person.a] ".count)) }
        }
        #expect(
            told(#""weight=ft""#) == [
                #"units = "weight=ft": ft does not fit weight, which is read in kg, lb, st or another unit of mass"#
            ])
        #expect(
            told(#""bloodGlucose=kg""#) == [
                #"units = "bloodGlucose=kg": kg does not fit bloodGlucose, which is read in mg/dL, mmol/L or another unit of mass concentration"#
            ])
        #expect(told(#""height=furlong""#).first?.contains("read in cm, ft, m or another unit of length") == true)
        #expect(told(#""wieght=kg""#) == [#"units = "wieght=kg": there is no type wieght; did you mean "weight=kg"?"#])
        #expect(
            told(#""sleepAnalysis=hr""#) == [
                #"units = "sleepAnalysis=hr": sleepAnalysis has no unit: it is of kind category"#
            ])
        #expect(
            told(#""weight=kg", "bodyMass=lb""#) == [#"units = "bodyMass=lb": there are two units for weight"#])
        #expect(told(#""weight""#).count == 1 && told("7").count == 1 && told(#""weight=kg""#) == [])
    }

    @Test func `a locale that there is not is refused`() {
        #expect(
            problems("[person.a]\nlocale = \"de_XX\"\n") == [
                #"hub.conf:4: [person.a] locale = "de_XX": there is no such language or region; expected such as "en_US", "de_DE", "fr_FR", "es_ES", "ja_JP""#
            ])
        #expect(problems("[person.a]\nlocale = \"de-AT\"\n") == [])
        #expect(problems("[person.a]\nlocale = \"German\"\n").count == 1)
    }
}
