import HubProcess
import HubWire
import Testing

@testable import HubCommand

/// The questions and answers that a terminal and a page share.
@Suite struct InterviewTests {
    private static func interview() -> SetupInterview {
        SetupInterview(SetupDraft(path: "/nonexistent/hub.conf", old: nil))
    }

    private static func refusal(
        _ interview: inout SetupInterview, _ name: String, _ text: String, of step: SetupInterview.Step
    ) throws -> String {
        do {
            let remarks = try interview.answer(name, text, of: step)
            Issue.record("\(text) was taken: \(remarks)")
            return ""
        } catch let fault as SetupInterview.Fault { return fault.reason }
    }

    @Test func `answers are taken as people type them, and the remarks show their meaning`() throws {
        var interview = Self.interview()
        #expect(interview.questions(of: .household).map(\.name) == ["zone", "names"])
        #expect(try interview.answer("zone", "tokyo", of: .household) == ["taken as Asia/Tokyo"])
        #expect(try interview.answer("zone", "Europe/Berlin", of: .household) == [])
        #expect(interview.questions(of: .household)[0].value == "Europe/Berlin")
        #expect(
            try interview.answer("names", "Jürgen and ben", of: .household) == [
                "Jürgen is juergen in hub.conf and in files; commands take both names"
            ])
        let asked = interview.questions(of: .persons)
        let keys = ["locale", "unit", "zone", "expected_weight"]
        #expect(asked.map(\.name) == keys.map { "juergen.\($0)" } + keys.map { "ben.\($0)" })
        #expect(asked.map(\.group) == Array(repeating: "Jürgen", count: 4) + Array(repeating: "ben", count: 4))
        #expect(try interview.answer("ben.expected_weight", "100 lb", of: .persons) == ["taken as 45.359237"])
        #expect(interview.draft.text.contains("[person.ben]\nexpected_weight = 45.359237\n"))
        #expect(try interview.answer("ben.expected_weight", "", of: .persons) == [])
        #expect(!interview.draft.text.contains("45.359237"), "an empty answer removes the value")
        #expect(interview.questions(of: .household)[1].title.hasPrefix("People are Jürgen (juergen), ben. Who else?"))
    }

    @Test func `a person who lives alone is asked only for the settings that one person needs`() throws {
        var interview = Self.interview()
        _ = try interview.answer("names", "anna", of: .household)
        #expect(interview.questions(of: .persons).map(\.name) == ["anna.locale", "anna.unit"])
    }

    @Test(arguments: [
        ("zone", "Europe/Belin", "did you mean \"Europe/Berlin\"?"), ("names", "anna, Anna", "Anna is there twice"),
        ("names", "!?", "expected a letter"), ("colour", "red", "there is no question colour"),
    ]) func `a wrong answer is refused with the reason, and changes nothing`(
        _ name: String, _ text: String, _ reason: String
    ) throws {
        var interview = Self.interview()
        let before = interview.draft.text
        #expect(try Self.refusal(&interview, name, text, of: .household).contains(reason))
        #expect(interview.draft.text == before)
    }

    @Test(arguments: [("me.unit", "stone", "expected one of"), ("me.height", "180", "there is no question")])
    func `only the settings that a person is asked for can be answered`(
        _ name: String, _ text: String, _ reason: String
    ) throws {
        var interview = Self.interview()
        #expect(try Self.refusal(&interview, name, text, of: .persons).contains(reason))
    }

    @Test func `a plugin that is not in the list, or has no program, is refused with its name`() throws {
        var interview = Self.interview()
        #expect(interview.questions(of: .plugins)[0].choices.map(\.value) == interview.offered)
        let unknown = try Self.refusal(&interview, "plugins", "ihealth-h3", of: .plugins)
        #expect(unknown == "there is no ihealth-h3 in the list; did you mean ihealth-hs3?")
        // The programs have not been asked for their manifests.
        let number = interview.offered.firstIndex(of: "web").map { "\($0 + 1)" } ?? ""
        for word in ["page", "WEB", number] {
            #expect(try Self.refusal(&interview, "plugins", word, of: .plugins).hasPrefix("web cannot run: "))
        }
    }
}
