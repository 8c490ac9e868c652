import HubSettings
import HubWire
import Samples
import Testing

/// `[person.…]`: the settings that tell people apart.
@Suite struct PersonTests {
    private func problems(_ text: String) -> [String] {
        load("[hub]\ndata = \"/d\"\n" + text).problems.map(\.description)
    }

    @Test func `a person's section has the settings for a scale and for assigning weights`() throws {
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

    @Test func `an incomplete or impossible setting is refused with the reason`() {
        #expect(
            problems("[person.a]\nweight_tolerance = 2\n") == [
                "hub.conf:4: [person.a] weight_tolerance = 2: has no effect without expected_weight; write that too"
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
        #expect(
            born("2026-11-21") == [] && born("2026-11-22") == [],
            "tomorrow is accepted, because some time zones already have that date")
        #expect(
            born("9999-12-31") == [
                "hub.conf:5: [person.a] birth_date = \"9999-12-31\": expected a date from 1900-01-01 to today"
            ])
        #expect(born("2029-12-31").count == 1 && born("2029-12-31", clock: "2030-01-01T00:00:00Z@60") == [])
        #expect(problems("[person.a]\nexpected_wieght = 60\n").first?.contains("did you mean expected_weight?") == true)
    }

    @Test func `a person may set a unit for a type under any of the type's names`() throws {
        let loaded = load(
            "[hub]\ndata = \"/d\"\n[person.a]\nlocale = \"en_GB\"\nunits = [\"bodyMass=st\", \"height=ft\", \"bloodGlucose=mmol/L\", \"bodyTemperature=°F\"]\n"
        )
        let person = try #require(loaded.configuration?.persons.first, "\(loaded.problems)")
        #expect(person.units == [.weight: "st", .height: "ft", .bloodGlucose: "mmol/L", .bodyTemperature: "degF"])
        #expect(person.locale == "en_GB")
    }

    @Test func `a unit that does not fit its type is refused with the fitting units`() {
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
        #expect(told(#""weight=kg", "bodyMass=lb""#) == [#"units = "bodyMass=lb": there are two units for weight"#])
        #expect(told(#""weight""#).count == 1 && told("7").count == 1 && told(#""weight=kg""#) == [])
    }

    @Test func `an unknown locale is refused`() {
        #expect(
            problems("[person.a]\nlocale = \"de_XX\"\n") == [
                #"hub.conf:4: [person.a] locale = "de_XX": there is no such language or region; expected such as "en_US", "de_DE", "fr_FR", "es_ES", "ja_JP""#
            ])
        #expect(problems("[person.a]\nlocale = \"de-AT\"\n") == [])
        #expect(problems("[person.a]\nlocale = \"German\"\n").count == 1)
    }
}

/// Display names, and finding a person by an entered name.
@Suite struct PersonNameTests {
    private func problems(_ text: String) -> [String] {
        load("[hub]\ndata = \"/d\"\n" + text).problems.map(\.description)
    }

    @Test func `a display name may have any letters, and all its encodings are one name`() throws {
        let decomposed = "Ju\u{308}rgen"
        let loaded = load("[hub]\ndata = \"/d\"\n[person.juergen]\ndisplay_name = \"\(decomposed)\"\n[person.anna]\n")
        let persons = try #require(loaded.configuration?.persons, "\(loaded.problems)")
        #expect(persons[0].displayName.map { Array($0.utf8) } == Array("J\u{FC}rgen".utf8))
        #expect(persons.map(\.shownName) == ["Jürgen", "anna"] && persons[0].bothNames == "Jürgen (juergen)")
        for typed in ["juergen", "Juergen", "JUERGEN", "Jürgen", "jürgen", "JÜRGEN", decomposed] {
            #expect(persons.named(typed)?.name == "juergen", "\(typed)")
        }
        #expect(persons.named("ANNA")?.name == "anna")
        for typed in ["jurgen", "ann", "", " anna"] { #expect(persons.named(typed) == nil, "\(typed)") }
        for name in ["Ольга", "小明", "नेहा", "علی‌رضا", "O’Neill-Smith", "Anna Maria", "Zoë 2"] {
            #expect(problems("[person.a]\ndisplay_name = \"\(name)\"\n") == [], "\(name)")
        }
    }

    @Test func `an exact name wins over another case, and an ambiguous case matches no one`() {
        // `hub.conf` cannot have both names, but the store may have a former person.
        let persons = ["Anna", "anna"].map { PersonSection(name: $0) }
        #expect(persons.named("Anna")?.name == "Anna" && persons.named("anna")?.name == "anna")
        #expect(persons.named("ANNA") == nil)
    }

    @Test func `a display name that has invisible characters, is too long or is taken is refused`() {
        func told(_ name: String) -> String {
            let all = problems("[person.a]\ndisplay_name = \"\(name)\"\n")
            return all.count == 1 ? all[0] : "\(all)"
        }
        #expect(told("A\\u0007b").contains("U+7 is a control character"))
        #expect(told("A\\nb").contains("U+A is"))
        #expect(told("A\\u202Eb").contains("U+202E is"), "the character would reverse the rest of a table")
        #expect(told("A\\u200Bb").contains("U+200B is"))
        #expect(told(" Ann").contains("no space at its beginning and end"))
        #expect(told("🙂 -").contains("expected a letter"))
        #expect(told(String(repeating: "ä", count: 65)).contains("at most 64 characters and 256 bytes"))
        #expect(told("a" + String(repeating: "\u{301}", count: 128)).contains("at most 64 characters"))
        #expect(problems("[person.a]\ndisplay_name = \"\(String(repeating: "ä", count: 64))\"\n") == [])
        #expect(
            problems("[person.a]\ndisplay_name = \"Zoë\"\n[person.b]\ndisplay_name = \"ZOË\"\n") == [
                "hub.conf:6: [person.b] display_name = \"ZOË\": [person.a] is called so already; upper and lower case count as one"
            ])
        #expect(
            problems("[person.b]\ndisplay_name = \"Anna\"\n[person.anna]\n") == [
                "hub.conf:4: [person.b] display_name = \"Anna\": [person.anna] is called so already; upper and lower case count as one"
            ])
        #expect(problems("[person.anna]\ndisplay_name = \"Anna\"\n") == [])
    }

    @Test func `a section name with other letters is refused with the lines to write`() {
        #expect(
            problems("[person.\"Jürgen\"]\n") == [
                "hub.conf:3: [person.\"Jürgen\"]: a name is \(HubConfiguration.nameRule); write [person.juergen], and display_name = \"Jürgen\" below it"
            ])
    }

    @Test func `lists of persons in hub.conf accept names in any case and display names`() throws {
        let loaded = load(
            """
            [hub]
            data = "/d"
            [person.anna]
            [person.juergen]
            display_name = "Jürgen"
            [plugin.exist]
            persons = ["Anna", "jürgen", "anna"]
            [priority.a]
            persons = ["JÜRGEN"]
            sources = ["exist"]
            """)
        let configuration = try #require(loaded.configuration, "\(loaded.problems)")
        #expect(configuration.plugins.first?.persons == .only(["anna", "juergen"]))
        #expect(configuration.priorities.first?.persons == ["juergen"])
        #expect(
            problems("[person.anna]\n[plugin.exist]\npersons = [\"Anne\"]\n").contains {
                $0.contains("there is no [person.Anne]") && $0.contains("did you mean \"anna\"?")
            })
    }

    @Test(arguments: [
        ("Jürgen", "juergen"), ("Anna Maria", "anna-maria"), ("José", "jose"), ("Łukasz", "lukasz"),
        ("O’Neill", "oneill"), ("Straße", "strasse"), ("ÅSA", "aasa"), ("Ольга", "olga"), ("Ιωάννα", "ioanna"),
        ("🙂 Bo", "bo"), ("D. Duck, jr.", "d-duck-jr"),
    ]) func `a display name is converted to a name of plain letters`(_ shown: String, _ name: String) {
        #expect(PersonName.derived(from: shown) == name)
    }

    @Test func `entered names become persons, and a name that is taken is refused`() throws {
        let known = try PersonName.entered(["anna", "Jürgen"], besides: [PersonSection]())
        #expect(known.map(\.name) == ["anna", "juergen"] && known.map(\.displayName) == [nil, "Jürgen"])
        let others = try PersonName.entered(["Jüergen", "Ju rgen"], besides: known)
        #expect(others.map(\.name) == ["jueergen", "ju-rgen"])
        #expect(try PersonName.entered(["Juer’gen"], besides: known).map(\.name) == ["juergen-2"])
        for twice in [["ANNA"], ["JÜRGEN"], ["Juergen"], ["Eva", "eva"]] {
            #expect(throws: PersonName.InvalidNames.self) { try PersonName.entered(twice, besides: known) }
        }
        let unspelled = try PersonName.entered(["☃ ⑨", "☃ ⑧"], besides: [PersonSection]())
        #expect(unspelled.allSatisfy { PeerName.isValid($0.name) } && Set(unspelled.map(\.name)).count == 2)
    }
}
